"""A run becomes a reference that says all of its machine's kind and nothing of its people."""

import json
import re
import shutil
import socket
import tomllib
from getpass import getuser
from pathlib import Path

import polars as pl
import pytest

from mockexecutor import MockEnd, MockExecutor
from mockruns import carried_out, carry_out
from pyscale.errors import UserError
from pyscale.evaluation.results import results_of
from pyscale.references.files import read_reference, write_reference
from pyscale.references.fromrun import reference_from
from pyscale.references.workid import work_id_of
from pyscale.store.folder import RunFolder
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
