"""A plan of the machine: no movie, a folder to measure, and workers that measure by themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.dryrun import show
from pyscale.errors import UserError
from pyscale.origin import commands
from pyscale.plan import Plan
from pyscale.planning import make_plan
from pyscale.runline import repeat_line
from pyscale.runsettings import settings_for
from pyscale.runtimes.protocol import NativeRuntime
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest
from pyscale.suite import load_suite
from pyscale.sweep import Sweep
from pyscale.taskwriter import TaskWriter
from pyscale.withsystem import with_system

PlanMaker = Callable[..., Plan]


@pytest.fixture
def system(tmp_path: Path) -> PlanMaker:
    """Plan the storage and decompress entries of the suite system."""

    def plan(workers: tuple[int, ...] = (1, 3), **flags: object) -> Plan:
        settings = settings_for("system", {"runs_folder": tmp_path / "runs", **flags})
        suite = load_suite("system")
        stages = {
            entry: suite.stages[entry].model_copy(update={"threads": 1})
            for entry in ("storage", "decompress")
        }
        return make_plan(
            suite.model_copy(update={"stages": stages}),
            None,
            run_id="20260317T114224Z-k3f9",
            settings=settings.model_dump(mode="json"),
            workers=workers,
        )

    return plan


def test_each_of_n_workers_measures_by_itself_and_is_compared_with_none(system: PlanMaker) -> None:
    trial = system().trial("storage-n3-b1")
    assert trial.windows == ((0, 1), (1, 2), (2, 3))
    assert trial.movie_frames == 3
    assert trial.tasks == ("w0", "w1", "w2", "merge")
    assert system().trial("storage-n1-b1").tasks == ("w0",)


def test_it_reads_the_folder_that_was_named_and_no_movie(
    system: PlanMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = system(path=Path("disk"))
    assert (plan.movie, plan.movie_frames, plan.place) == (None, 0, tmp_path / "disk")
    for trial in plan.trials:
        (place,) = trial.inputs
        assert (place.slot, place.path, place.is_place) == ("place", tmp_path / "disk", True)
        assert trial.is_of_machine
        assert not trial.reads_movie
    assert plan.machine_entries == {"storage", "decompress"}
    assert plan.title.endswith(f"suite system, of the folder {tmp_path / 'disk'}")


def test_without_a_folder_that_of_the_runs_is_measured(system: PlanMaker, tmp_path: Path) -> None:
    assert system().place == tmp_path / "runs"


def test_the_worker_counts_say_that_each_measures_by_itself(system: PlanMaker) -> None:
    sweep = Sweep.of(system())
    assert sweep.workers == (1, 3)
    assert "by itself" in str(sweep)


def test_the_dry_run_names_the_folder_and_no_frames(
    system: PlanMaker, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    show(system(path=tmp_path))
    out = capsys.readouterr().out
    assert "system of the folder" in out
    assert "frames" not in out


def test_the_dry_run_says_how_much_is_written_there(
    system: PlanMaker, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    show(system(path=tmp_path))
    assert "GB of the tests" in capsys.readouterr().err


def test_the_dry_run_refuses_a_folder_that_cannot_be_measured(
    system: PlanMaker, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="absent, does not exist"):
        show(system(path=tmp_path / "absent"))


def test_the_dry_run_speaks_of_workers_at_once_where_there_are_several(
    system: PlanMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    show(system(workers=(1, 3)))
    assert "all at once" in capsys.readouterr().out
    show(system(workers=(1,)))
    assert "all at once" not in capsys.readouterr().out


def test_a_run_of_it_has_no_input_and_tells_its_folder(system: PlanMaker, tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "runs", system(path=tmp_path))
    manifest = build_manifest(run)
    assert manifest["input"] == {
        "path": None,
        "frames": 0,
        "files": [],
        "truth": [],
        "own_data": [],
    }
    assert manifest["place"] == str(tmp_path)
    task = TaskWriter(run, NativeRuntime()).inputs(run.plan.trials[0])
    assert task == (("place", tmp_path),)


def test_the_line_that_repeats_it_names_the_folder_and_no_data(
    system: PlanMaker, tmp_path: Path
) -> None:
    plan = system(path=tmp_path)
    line = repeat_line(plan.model_copy(update={"suite": load_suite("system")}))
    assert line.startswith("pyscale run system ")
    assert line.endswith(f"--path {tmp_path}")
    assert "--data" not in line
    assert "--cache" not in line
    assert not any("fetch" in command.line for command in commands(plan))


@pytest.fixture
def beside(make_of: PlanMaker) -> PlanMaker:
    """Plan the labels suite with what --with-system adds."""

    def plan(**changes: object) -> Plan:
        settings = settings_for("labels", {"with_system": True})
        suite = with_system(load_suite("labels"), settings, None)
        return make_of(suite, (2, 4), with_system=True, **changes)

    return plan


def test_beside_a_movie_one_worker_measures_the_machine_once_and_first(beside: PlanMaker) -> None:
    plan = beside()
    machine = [trial for trial in plan.trials if trial.is_of_machine]
    assert [trial.id for trial in plan.trials[:3]] == [trial.id for trial in machine]
    assert {(trial.workers, trial.block, trial.windows) for trial in machine} == {(1, 1, ((0, 1),))}
    assert plan.place is not None


def test_what_was_measured_beside_changes_nothing_else(
    beside: PlanMaker, make_of: PlanMaker
) -> None:
    alone = make_of(load_suite("labels"), (2, 4))
    others = [trial for trial in beside().trials if not trial.is_of_machine]
    assert others == list(alone.trials)
    assert Sweep.of(beside()) == Sweep.of(alone)


def test_where_the_machine_alone_is_left_of_a_suite_no_movie_is_shared(beside: PlanMaker) -> None:
    assert "by itself" in str(Sweep.of(beside(only=("storage",))))


def test_some_stages_of_the_movie_are_measured_with_the_machine(beside: PlanMaker) -> None:
    entries = {trial.entry for trial in beside(only=("contact",)).trials}
    assert entries == {"storage", "decompress", "kernels_cpu", "contact"}
    assert {trial.entry for trial in beside(only=("storage",)).trials} == {"storage"}


def test_the_line_that_repeats_a_run_with_the_machine_beside_it_says_so(beside: PlanMaker) -> None:
    line = repeat_line(beside())
    assert line.startswith("pyscale run labels --data ")
    assert line.endswith(" --with-system")
    assert "--only" not in line
    assert "--workers 2,4" in line


@pytest.mark.parametrize(
    ("only", "named"),
    [
        (("storage",), ["--only storage", "--workers 1"]),
        (("contact", "storage"), ["--only contact", "--only storage", "--workers 2,4"]),
        (("contact",), ["--only contact", "--workers 2,4"]),
    ],
)
def test_the_line_names_what_was_chosen_of_the_machine(
    beside: PlanMaker, only: tuple[str, ...], named: list[str]
) -> None:
    line = repeat_line(beside(only=only))
    assert all(f" {words} " in line for words in named)
    assert line.count("--only") == len(only)
