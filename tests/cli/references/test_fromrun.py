"""A run becomes a reference that says all of its machine's kind and nothing of its people."""

import json
import re
import shutil
import socket
import tomllib
from getpass import getuser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from madeupmachine import made_up
from mockexecutor import MockEnd, MockExecutor
from mockruns import carried_out, carry_out
from pyscale.analysis.machine.beside import MachineSide, machine_speedups, machines_side_by_side
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.analysis.referencemodel import Loaded
from pyscale.errors import UserError
from pyscale.evaluation.results import results_of
from pyscale.planning.grid import unfolded
from pyscale.planning.planentry import Dataset
from pyscale.planning.planner import make_plan
from pyscale.planning.suite import load_suite
from pyscale.references.files import read_reference, shipped_folder, write_reference
from pyscale.references.fromrun import reference_from
from pyscale.references.matching import matching_tests
from pyscale.references.workid import work_id_of
from pyscale.settings import Settings
from pyscale.store.folder import RunFolder, new_run_id
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.timing import Call
from refusals import refused

NODE = "gpu17.alices-lab.example"


def executed(make, folder, **changes):
    """A run on pretended workers, of whom one takes longer."""

    def behaviour(_trial, task, spec):
        return MockEnd(wall_s=(5.0 if task == "w0" else 3.0) / (1 + (spec.frames != (0, 8))))

    run = RunFolder.create(folder / "runs", make(**changes))
    carry_out(run, MockExecutor(behaviour))
    return run


@pytest.fixture
def done(make, tmp_path):
    return executed(make, tmp_path, only=("register_denoise", "segment"))


@pytest.fixture
def somebodys(make, movie, tmp_path):
    """A run whose every record names its person, host and folders."""
    home = tmp_path / "home" / "alice"
    home.mkdir(parents=True)
    own = shutil.copy(movie, home / "alice-secret.ome.tif")
    planned = make(data=str(own), runs_folder=home / "runs")
    plan = planned.model_copy(
        update={
            "movie": Path(own),
            "suite": planned.suite.model_copy(update={"name": "alices", "summary": "of alice"}),
        }
    )
    run = RunFolder.create(home / "runs", plan)
    carry_out(run)
    for path in run.path.glob("tasks/*/*/*.json"):
        _rename_node(path)
    return run


def _rename_node(path):
    record = json.loads(path.read_text())
    for place in (record, record.get("stamp", {})):
        if "node" in place:
            place["node"] = NODE
    if "stamp" in record:
        record["stamp"] |= {
            "label": "Some CPU, 2 cores",
            "machine": f"Machine of {NODE}",
            "kernel": f"Linux 6.1 built by alice on {NODE}",
            "filesystems": [
                {"path": "/home/alice/out", "fs_type": "nfs", "device": f"{NODE}:/home/alice"}
            ],
            "slurm": {"job_partition": "alices", "node_list": NODE},
        }
    path.write_text(json.dumps(record))


def texts(run, folder):
    path = write_reference(reference_from(run, "ours"), folder)
    yield path.read_text()
    yield path.with_suffix(".csv").read_text()


@pytest.mark.slow
def test_no_name_of_a_person_or_host_and_no_path_is_in_it(somebodys, tmp_path):
    told = "\n".join(texts(somebodys, tmp_path / "references"))
    # What must not leak is there to leak.
    records = "".join(path.read_text() for path in somebodys.path.glob("tasks/*/*/*.json"))
    for secret in ("alice", NODE, str(tmp_path)):
        assert secret in records
        assert secret not in told
    assert "/" not in told
    for secret in (getuser(), socket.gethostname(), somebodys.plan.movie.name):
        assert not re.search(rf"\b{re.escape(secret)}\b", told)
    assert "a suite of one's own on a movie of its own, 8 frames" in told
    assert 'filesystems = "nfs"' in told


@pytest.mark.slow
def test_it_has_the_runs_own_numbers(done, tmp_path):
    path = write_reference(reference_from(done, "ours"), tmp_path / "references")
    found = read_reference(path).configurations()
    assert found is not None
    reported = results_of(done).configurations
    assert found.height == reported.height == 4
    for column in ("stage", "workers", "repeats", "scaling"):
        assert found[column].to_list() == reported[column].to_list()
    assert max(reported["load_balance"]) > min(reported["load_balance"])
    for column in ("wall_s", "speedup", "efficiency", "load_balance", "computation_scaling"):
        assert found[column].to_list() == pytest.approx(
            # Of a run computation is told by its phase, of a table by whole tasks.
            (
                reported["computation_scaling"] * reported["useful_share"]
                if column == "computation_scaling"
                else reported[column]
            ).to_list()
        )


def test_windows_that_workers_did_in_turn_are_told(make, tmp_path):
    run = executed(make, tmp_path, only=("register_denoise",), chunks_per_worker=2)
    table = reference_from(run, "ours").table
    assert dict(table.select("workers", "tasks").unique().iter_rows()) == {1: 2, 2: 4}


def test_it_says_what_is_known_of_its_making_and_nothing_is_written_into_the_run(done, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in done.path.rglob("*")}
    path = write_reference(reference_from(done, "ours"), tmp_path / "references")
    assert {path: path.stat().st_mtime_ns for path in done.path.rglob("*")} == before
    told = tomllib.loads(path.read_text())
    day = done.plan.run_id
    # With the name, so that two runs on one machine can be told apart.
    assert told["title"].startswith("ours (")
    assert told["measured"] == f"{day[:4]}-{day[4:6]}-{day[6:8]}"
    assert told["stages"] == {name: name for name in ("register_denoise", "segment")}
    assert told["hardware"]["nodes"] == "1"
    assert told["caveats"][0].startswith("8 of 8 planned trials were timed")
    assert any("Fewer than 6 timed trials" in caveat for caveat in told["caveats"])
    assert told["work_id"] == work_id_of(done)
    (done.path / "provenance.json").unlink()
    with refused(UserError):
        reference_from(done, "ours")


def test_every_doubt_about_the_run_is_a_caveat_with_its_place(make, tmp_path):
    def behaviour(trial, task, _spec):
        return MockEnd(returncode=int((trial, task) == ("segment-n2-b1", "w1")))

    run = carried_out(make(retries=0, only=("segment",)), tmp_path, MockExecutor(behaviour))
    caveats = reference_from(run, "ours").reference.caveats
    assert any(
        caveat.startswith("segment at N = 2: A trial failed or did not finish")
        for caveat in caveats
    )


def test_texts_with_quotes_and_other_signs_survive(done, tmp_path):
    loaded = reference_from(done, "ours")
    odd = {"title": 'a "quoted" \\ µ µm\n😀', "hardware": {'the "x" = y': "1\t2"}}
    loaded = type(loaded)(loaded.reference.model_copy(update=odd), loaded.table)
    again = read_reference(write_reference(loaded, tmp_path / "references"))
    assert again.reference == loaded.reference
    assert again.table.select("wall_s").equals(loaded.table.select(pl.col("wall_s")))


CSV = """test,timing,device,wall_s,amount,unit,repeat
fft_3d,,,0.5,100,flop,0
fft_3d,,,0.7,100,flop,1
fft_3d,forward,,0.2,,,0
fft_3d,,NVIDIA A100,0.01,100,flop,0
elsewhere,,,1,,,0
"""


@pytest.fixture
def toml(toml):
    """What describes a reference of tests."""
    return toml.replace('"workers"', '"test"').replace('cells = "segment"\n', "")


@pytest.fixture
def ours(write, toml):
    """A reference of one's own."""
    return read_reference(write(toml=toml, csv=CSV))


@pytest.fixture(scope="module")
def guide():
    """What the guide of CryoSPARC shows."""
    return read_reference(shipped_folder() / "cryosparc-sample.toml")


@pytest.fixture(scope="module")
def tests():
    """Those of a made-up run on the processor and on GPUs, of one node."""
    found = made_up(nodes=1).of(MachineFindings)
    assert found is not None
    # Two more tests have the step of the guide.
    named = [
        found.tests.filter(test="fsc_tight").with_columns(test=pl.lit(name))
        for name in ("fsc_spherical", "fsc_loose")
    ]
    return pl.concat([found.tests, *named])


def test_it_is_summed_up_as_a_run_is(ours):
    found = ours.tests()
    assert found is not None
    whole = [row for row in found.to_dicts() if row["test"] == "fft_3d" and row["device"] is None]
    assert [(row["step"], row["wall_s"], row["repeats"]) for row in whole] == [
        (None, pytest.approx(0.6), 2),
        ("forward", 0.2, 1),
    ]
    assert whole[0]["rate"] == pytest.approx(100 / 0.6)
    assert set(found["kind"]) == {None}


@pytest.mark.parametrize(
    "csv",
    [
        "test,seconds\nfft,1\n",
        "test,wall_s\nfft,fast\n",
        "test,wall_s\nfft,-1\n",
        "test,wall_s\n,1\n",
    ],
)
def test_a_table_that_is_none_is_refused_in_a_sentence(write, toml, csv):
    with refused(UserError):
        read_reference(write(toml=toml, csv=csv))


def test_only_tests_of_the_run_on_the_same_kind_of_device_stand_beside_it(ours, tests):
    (found,) = matching_tests([ours], tests)
    assert set(found.found["test"]) == {"fft_3d"}
    assert set(found.found["kind"]) == {"kernels"}
    assert set(found.found["device"]) == {None, "NVIDIA A100"}
    (found,) = matching_tests([ours], tests.filter(pl.col("device").is_null()))
    assert set(found.found["device"]) == {None}
    assert matching_tests([ours], tests.filter(kind="storage")) == []


def test_the_very_measurement_is_not_shown_beside_itself(tests, ours):
    own = tests.filter(pl.col("test") == "fft_3d", pl.col("device").is_null())
    table = own.select("test", timing="step", wall_s="wall_s")
    assert matching_tests([Loaded(ours.reference, table)], own) == []


def test_the_two_timings_of_the_guide_stand_beside_our_step_of_the_same_tests_on_gpus(guide, tests):
    assert sorted(guide.tests().select("test", "step", "wall_s").rows()) == [
        ("fsc_loose", "put_map_on_device", 0.677032470703125),
        ("fsc_spherical", "put_map_on_device", 0.5858473777771),
    ]
    (found,) = matching_tests([guide], tests)
    sides = [MachineSide(tests, {}), MachineSide(found.found, found.reference.size_ids)]
    speedups = machine_speedups(machines_side_by_side(sides)).filter(base=0, side=1)
    # They have no speedup, as amounts are not known to be equal.
    assert speedups.select("test", "device", "step", "speedup", "why_not").rows() == [
        ("fsc_spherical", "GPU", "put_map_on_device", None, "unknown-amount"),
        ("fsc_loose", "GPU", "put_map_on_device", None, "unknown-amount"),
    ]
    assert matching_tests([guide], tests.filter(pl.col("device").is_null())) == []
    told = " ".join(guide.reference.caveats)
    assert "amounts are not known to be equal" in told
    assert "One value each" in told


SECONDS = {"cpu": 0.05, "cuda": 0.01}
COLUMNS = ("device", "length_px", "repeat", "wall_s")
GPUS = [{"name": "NVIDIA H200 GPU", "driver": "570.1", "cuda": "12.8", "uuid": "GPU-secret"}]
VERSIONS = {"cellpose": "3.1.1", "torch": "2.5.1+cu124", "weights_sha256": "5" * 64}


@pytest.fixture
def measure(tmp_path, movie):
    """Measure the suite `device` on pretended workers."""

    def measured(n_calls=3, **axes):
        grid = {"length_px": (224, 448), "device": ("cpu", "cuda")} | axes
        suite = unfolded(load_suite("device"), grid, device="cpu", cores=lambda _stage, _device: 2)
        settings = Settings(repeats=2, runs_folder=tmp_path / "runs", data=str(movie))
        plan = make_plan(
            suite,
            Dataset(movie, frames=8),
            run_id=new_run_id(),
            settings=settings.model_dump(mode="json"),
            workers=(1,),
        )
        run = carried_out(plan, tmp_path)
        for trial in plan.trials:
            _tell(run, trial, n_calls)
        return run

    return measured


def _tell(run, trial, n_calls):
    """Let a trial have timed its calls, the first of them ten times as long, on a GPU."""
    file = run.task(trial, "w0") / "result.json"
    length_px = int(str(trial.params["length_px"]))
    steady_s = SECONDS[trial.device] * length_px * trial.block
    seconds = [10 * steady_s, *[steady_s] * (n_calls - 1)]
    calls = [
        Call(frame=0, index=index, shape_yx=(length_px, length_px), wall_s=wall_s)
        for index, wall_s in enumerate(seconds)
    ]
    record = json.loads(file.read_text())
    record["samples"] = {"calls": [call.model_dump(mode="json") for call in calls]}
    record["versions"] = VERSIONS
    record["stamp"] |= {"gpus": GPUS, "cpu": {"model": "Some CPU", "cores": 2}}
    file.write_text(json.dumps(record))


@pytest.mark.slow
def test_it_has_the_steady_times_the_ratios_and_the_conditions_of_the_run(measure, tmp_path):
    run = measure()
    loaded = read_reference(write_reference(reference_from(run, "ours"), tmp_path / "own"))
    told = loaded.reference
    assert told.sweep == "length_px"
    assert told.stages == {"segment": "segment"}
    assert told.figures.startswith("time of a call on a square crop of length_px")
    found = {row[:3]: row[3] for row in loaded.table.select(*COLUMNS).iter_rows()}
    assert found == {
        (device, length_px, block): pytest.approx(SECONDS[kind] * length_px * block)
        for kind, device in (("cpu", "cpu"), ("cuda", "cuda-nvidia-h200"))
        for length_px in (224, 448)
        for block in (1, 2)
    }
    # A report that reads it finds the ratios of the run.
    (grid,), (own,) = loaded.grids(), results_of(run).kinds
    columns = ("length_px", "workers", "ratio")
    assert grid.ratios.filter(measure="steady").select(columns).rows() == [
        (length_px, workers, pytest.approx(ratio))
        for length_px, workers, ratio in own.ratios.filter(measure="steady")
        .select(columns)
        .iter_rows()
    ]
    expected = {
        "GPUs": "NVIDIA H200 GPU",
        "GPU driver": "570.1",
        "device": "cpu, cuda",
        "cores of a worker": "2",
        "model": "pyscale-tiny",
        "tiles at once": "8",
        "calls of a process": "3",
    }
    assert {name: told.hardware[name] for name in expected} == expected
    assert told.hardware["software"].startswith("cellpose 3.1.1, torch 2.5.1+cu124, Python 3.")
    assert "secret" not in told.model_dump_json()


def test_with_one_call_a_process_its_times_are_those_of_first_calls(measure):
    loaded = reference_from(measure(n_calls=1, device=("cpu",), length_px=(224,)), "ours")
    assert loaded.reference.figures.startswith("time of the first call of a process")
    assert sorted(loaded.table["wall_s"]) == pytest.approx([112.0, 224.0])


def test_what_else_varies_names_a_curve_and_a_path_is_not_told(measure):
    run = measure(device=("cpu",), length_px=(224,), model=("pyscale-tiny", "/home/alice/own.pth"))
    loaded = reference_from(run, "ours")
    assert set(loaded.reference.stages) == {
        "segment, model pyscale-tiny",
        "segment, model of its own",
    }
    assert loaded.reference.hardware["model"] == "of its own, pyscale-tiny"
    assert "alice" not in loaded.reference.model_dump_json()
    assert "alice" not in loaded.table.write_csv()


@pytest.fixture
def id_of(make, tmp_path):
    """Fingerprint of the pipeline's work with any setting replaced."""

    def fingerprint(movie=None, **changes):
        plan = make(**changes)
        if movie is not None:
            plan = plan.model_copy(update={"movie": movie})
        return work_id_of(RunFolder.create(tmp_path / plan.run_id, plan))

    return fingerprint


def test_repeats_workers_cores_and_places_do_not_count(id_of, movie, tmp_path):
    copy = Path(shutil.copy(movie, tmp_path / "another-name.tif"))
    others = {
        "repeats": 3,
        "workers": (2, 4),
        "cpus_per_worker": 2,
        "seed": 7,
        "cache": "warm",
        "chunks_per_worker": 2,
    }
    assert id_of() == id_of(copy, **others)


def test_other_bytes_parameters_stages_or_scaling_are_other_work(id_of, tmp_path):
    other, as_large = tmp_path / "other.ome.tif", tmp_path / "as-large.ome.tif"
    write_movie(other, np.ones((8, 4, 4), np.uint16), "TYX")
    content = bytearray(other.read_bytes())
    content[-1] ^= 1
    as_large.write_bytes(content)
    found = [
        id_of(),
        id_of(other),
        id_of(as_large),
        id_of(stages={"segment": {"min_size_px": 16}}),
        id_of(tolerance={"segment": 0.5}),
        id_of(only=("register_denoise",)),
        id_of(scaling="weak"),
    ]
    assert len(set(found)) == len(found)
