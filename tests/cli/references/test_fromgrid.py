"""A run over image sizes becomes a reference by size, with its GPU, versions and conditions."""

import json

import pytest

from mockruns import carried_out
from pyscale.evaluation.results import results_of
from pyscale.planning.grid import unfolded
from pyscale.planning.planentry import Dataset
from pyscale.planning.planner import make_plan
from pyscale.planning.suite import load_suite
from pyscale.references.files import read_reference, write_reference
from pyscale.references.fromrun import reference_from
from pyscale.settings import Settings
from pyscale.store.folder import new_run_id
from pyscale_stages.timing import Call

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
