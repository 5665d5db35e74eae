"""A plan of the machine: no movie, a folder to measure, and workers that measure by themselves."""

from pathlib import Path

import pytest

from mockruns import alone
from pyscale.commands.dryrun import show
from pyscale.errors import UserError
from pyscale.evaluation.origin import commands
from pyscale.evaluation.runline import repeat_line
from pyscale.measuring.trialrunner import TaskWriter
from pyscale.planning.planner import make_plan
from pyscale.planning.resolve_grid import with_system
from pyscale.planning.runsettings import settings_for
from pyscale.planning.suite import load_suite
from pyscale.planning.sweep import Sweep
from pyscale.planning.traits import measures_alone
from pyscale.runtimes.starting import NativeRuntime
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest
from pyscale.store.tables import build_tables
from refusals import assert_said, refused


@pytest.fixture
def system(tmp_path):
    def plan(workers=(1, 3), **flags):
        settings = settings_for("system", {"runs_folder": tmp_path / "runs", **flags})
        return make_plan(
            alone(load_suite("system"), "storage", "decompress"),
            None,
            run_id="20260317T114224Z-k3f9",
            settings=settings.model_dump(mode="json"),
            workers=workers,
        )

    return plan


def test_each_of_n_workers_measures_by_itself_and_is_compared_with_none(system, tmp_path):
    plan = system()
    trial = plan.trial("storage-n3-b1")
    assert trial.windows == ((0, 1), (1, 2), (2, 3))
    assert trial.movie_frames == 3
    assert trial.tasks == ("w0", "w1", "w2", "merge")
    assert plan.trial("storage-n1-b1").tasks == ("w0",)
    sweep = Sweep.of(plan)
    assert sweep.workers == (1, 3)
    assert "by itself" in str(sweep)
    # Without a folder that of the runs is measured.
    assert plan.place == tmp_path / "runs"


def test_it_reads_the_folder_that_was_named_and_no_movie(system, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = system(path=Path("disk"))
    assert (plan.movie, plan.movie_frames, plan.place) == (None, 0, tmp_path / "disk")
    for trial in plan.trials:
        (place,) = trial.inputs
        assert (place.slot, place.path, place.is_place) == ("place", tmp_path / "disk", True)
        assert measures_alone(trial.stage)
    assert plan.entries_that(measures_alone) == {"storage", "decompress"}
    assert plan.title.endswith(f"suite system, of the folder {tmp_path / 'disk'}")


def test_the_dry_run_names_the_folder_and_what_is_written_there(system, capsys, tmp_path):
    show(system(path=tmp_path), [])
    several = capsys.readouterr()
    assert "system of the folder" in several.out
    assert "all at once" in several.out
    assert "frames" not in several.out
    assert "the tests write" in several.err
    show(system(workers=(1,)), [])
    assert "all at once" not in capsys.readouterr().out
    with refused(UserError):
        show(system(path=tmp_path / "absent"), [])


def test_a_run_of_it_has_no_input_and_tells_its_folder(system, tmp_path):
    plan = system(path=tmp_path)
    run = RunFolder.create(tmp_path / "runs", plan)
    manifest = build_manifest(run, build_tables(run).sources)
    nothing = {"path": None, "frames": 0, "files": [], "truth": [], "own_data": []}
    assert manifest["input"] == nothing
    assert manifest["place"] == str(tmp_path)
    task = TaskWriter(run, NativeRuntime()).inputs(run.plan.trials[0])
    assert task == (("place", tmp_path),)
    line = repeat_line(plan.model_copy(update={"suite": load_suite("system")}))
    assert line.startswith("pyscale run system ")
    assert line.endswith(f"--set path={tmp_path}")
    assert "--data" not in line
    assert "--cache" not in line
    assert not any("fetch" in command.line for command in commands(plan))


@pytest.fixture
def beside(make_of):
    def plan(**changes):
        settings = settings_for("labels", {"with_system": True})
        suite = with_system(load_suite("labels"), settings, None)
        return make_of(suite, (2, 4), with_system=True, **changes)

    return plan


def test_beside_a_movie_one_worker_measures_the_machine_once_and_first(beside, make_of):
    plan = beside()
    machine = [trial for trial in plan.trials if measures_alone(trial.stage)]
    assert list(plan.trials[:3]) == machine
    assert {(trial.workers, trial.block, trial.windows) for trial in machine} == {(1, 1, ((0, 1),))}
    assert plan.place is not None
    # Nothing else changes.
    alone = make_of(load_suite("labels"), (2, 4))
    assert plan.trials[3:] == alone.trials
    assert Sweep.of(plan) == Sweep.of(alone)


def test_some_stages_of_the_movie_are_measured_with_the_machine(beside):
    entries = {trial.entry for trial in beside(only=("contact",)).trials}
    assert entries == {"storage", "decompress", "kernels_cpu", "contact"}
    machine = beside(only=("storage",))
    assert {trial.entry for trial in machine.trials} == {"storage"}
    assert "by itself" in str(Sweep.of(machine)), "no movie is shared"


def test_the_line_that_repeats_it_names_what_was_chosen_of_the_machine(beside):
    for only in ((), ("storage",), ("contact", "storage"), ("contact",)):
        assert_said(repeat_line(beside(only=only)))
