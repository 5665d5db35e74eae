"""A plan of reconstruction: ranks that meet share one image, which no dataset holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.advicesource import Measured
from pyscale.advising import _of_processing
from pyscale.benchmark import Outcome, execute, plan_run
from pyscale.betweenruns import MeasuredRun
from pyscale.doctor.subject import Subject
from pyscale.dryrun import show
from pyscale.errors import UserError
from pyscale.executors.mock import MockEnd, MockExecutor
from pyscale.executors.submission import options_of, submissions
from pyscale.gridhere import measured_suite
from pyscale.plan import Plan
from pyscale.planning import make_plan
from pyscale.references.fromrun import reference_from
from pyscale.references.workid import work_id_of
from pyscale.runline import repeat_line
from pyscale.running import _refuse_blind_gate
from pyscale.runsettings import settings_for
from pyscale.sites import Site
from pyscale.store.crate import write_crate
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest, write_manifest
from pyscale.store.tables import RECONSTRUCTION_FILE, build_tables, write_tables
from pyscale.store.taskfiles import read_task
from pyscale.suite import load_suite
from pyscale.sweep import Sweep
from pyscale.withsystem import with_system
from pyscale_stages.contract import TaskError, TaskSpec

PlanMaker = Callable[..., Plan]
ENTRY = "tomography_3d"
ALONE, BOTH, FOUR = (f"{ENTRY}-n{ranks}-b1" for ranks in (1, 2, 4))
EXHAUSTED = TaskError(
    kind="ResourceExhausted", message="memory ran out on rank 0 of node n1", exit_code=3
)


@pytest.fixture
def sharing(tmp_path: Path) -> PlanMaker:
    """Plan one entry of the suite reconstruct."""

    def plan(
        workers: tuple[int, ...] = (1, 2, 4),
        site: Site | None = None,
        only: tuple[str, ...] = (ENTRY,),
        **flags: object,
    ) -> Plan:
        given = {"repeats": 1, "runs_folder": tmp_path / "runs", **flags}
        settings = settings_for("reconstruct", given)
        suite = measured_suite(load_suite("reconstruct"), settings, site)
        if settings.with_system:
            suite = with_system(suite, settings, site)
        return make_plan(
            suite,
            None,
            run_id="20260317T114224Z-k3f9",
            settings=settings.model_dump(mode="json"),
            workers=workers,
            only=only,
            site=site,
        )

    return plan


def cluster(**request: object) -> Site:
    return Site.model_validate(
        {"name": "mine", "summary": "ours", "request": {"cpus": 6, **request}}
    )


def carried_out(plan: Plan, folder: Path, executor: MockExecutor) -> tuple[RunFolder, Outcome]:
    run = RunFolder.create(folder / "runs", plan)
    return run, execute(run, executor, lambda _event: None)


def spec_of(run: RunFolder, trial: str, task: str) -> TaskSpec:
    text = (run.task(run.plan.trial(trial), task) / "spec.json").read_text()
    return TaskSpec.model_validate_json(text)


def test_what_n_ranks_compute_is_joined_and_compared_with_that_of_the_fewest(
    sharing: PlanMaker,
) -> None:
    plan = sharing()
    assert plan.trial(ALONE).tasks == ("w0",)
    assert plan.trial(FOUR).tasks == ("w0", "w1", "w2", "w3", "merge", "check")
    assert plan.trial(FOUR).windows == ((0, 1), (1, 2), (2, 3), (3, 4))
    assert plan.trial(ALONE).windows == ((0, 1),)
    assert plan.trial(FOUR).reference_trial == ALONE
    assert plan.trials[0].id == ALONE


def test_its_entries_stand_apart_and_load_nothing(sharing: PlanMaker) -> None:
    plan = sharing()
    assert plan.reconstruct_entries == plan.rank_entries == plan.entries_apart == {ENTRY}
    assert plan.loader_entries == frozenset()
    assert plan.title.endswith("suite reconstruct, on images made for it")
    assert plan.measured_for == "images made for it"


def test_its_sweep_gives_every_n_the_same_image(sharing: PlanMaker) -> None:
    sweep = Sweep.of(sharing())
    assert sweep == Sweep.of_image((1, 2, 4))
    assert str(sweep) == "strong: N ranks share the work on one image, the same at every N"
    assert (sweep.is_weak, sweep.feeding) == (False, 1)


@pytest.mark.parametrize(
    "flags",
    [{"data": "hela-tracking"}, {"scaling": "strong"}, {"cache": "warm"}, {"axes": "TYX"}],
)
def test_what_tells_of_a_movie_is_refused(sharing: PlanMaker, flags: dict[str, object]) -> None:
    (name,) = flags
    said = f"--{name}: the suite reconstruct works on images that it makes itself and reads no"
    with pytest.raises(UserError, match=said):
        sharing(**flags)


def test_ranks_that_would_not_meet_are_refused(
    sharing: PlanMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=f"ranks of {ENTRY} wait for each other and need one job"):
        sharing(site=cluster(), layout="array")
    monkeypatch.setenv("PYSCALE_CHUNKS_PER_WORKER", "3")
    with pytest.raises(UserError, match=f"ranks of {ENTRY} work on one image, so --chunks-per"):
        sharing()


def test_without_worker_counts_it_measures_as_many_as_are_usual_on_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = ['name = "own"', 'summary = "mine"', 'data = "phantom"', "[stages.reconstruct]"]
    (tmp_path / "own.toml").write_text("\n".join(own))
    settings = settings_for("own.toml", {"repeats": 1, "executor": "slurm", "site": "plain"})
    assert {trial.workers for trial in plan_run("own.toml", settings).trials} == {1, 2, 4, 8}


def test_the_dry_run_shows_ranks_and_neither_frames_nor_an_input(
    sharing: PlanMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    show(sharing())
    out = capsys.readouterr().out
    assert "on images made for it" in out
    assert "N ranks share the work on one image" in " ".join(out.split())
    for absent in ("frames", "windows", "input"):
        assert absent not in out


def test_a_cluster_starts_all_ranks_by_one_job_on_as_many_nodes_as_they_need(
    sharing: PlanMaker,
) -> None:
    site = cluster(gpus=1, tasks_per_node=4, memory_gib=2)
    plan = sharing((1, 6), site, device="cuda")
    windows, merge, check = submissions(plan.trial(f"{ENTRY}-n6-b1"))
    assert (windows.is_gang, merge.is_gang, check.is_gang) == (True, False, False)
    asked = options_of(site, windows, 1)
    assert (asked["nodes"], asked["ntasks"], asked["ntasks-per-node"]) == ("2", "6", "4")
    assert (asked["gres"], asked["mem"]) == ("gpu:4", "8192M")


def test_every_rank_is_told_its_number_and_the_result_is_compared_with_that_of_one(
    sharing: PlanMaker, tmp_path: Path
) -> None:
    run, outcome = carried_out(sharing(), tmp_path, MockExecutor())
    assert outcome.incomplete == ()
    specs = [spec_of(run, BOTH, task) for task in ("w0", "w1")]
    assert [(spec.rank, spec.ranks, spec.frames, spec.inputs) for spec in specs] == [
        (0, 2, None, ()),
        (1, 2, None, ()),
    ]
    (meeting,) = {spec.meeting for spec in specs}
    assert meeting is not None
    compared = dict(spec_of(run, BOTH, "check").inputs)
    assert compared == {
        name: run.output(run.plan.trial(trial))
        for name, trial in (("reference", ALONE), ("other", BOTH))
    }
    assert spec_of(run, ALONE, "w0").meeting is None


def test_an_image_that_does_not_fit_one_rank_is_timed_on_more(
    sharing: PlanMaker, tmp_path: Path
) -> None:
    def behaviour(trial: str, _task: str, _spec: TaskSpec) -> MockEnd:
        return MockEnd(returncode=3, error=EXHAUSTED) if trial == ALONE else MockEnd()

    executor = MockExecutor(behaviour)
    run, outcome = carried_out(sharing((1, 2)), tmp_path, executor)
    # Nothing is there to compare it with, which is no reason not to time it.
    assert set(outcome.incomplete) == {ALONE, BOTH}
    states = {task: read_task(run.task(run.plan.trial(BOTH), task)).state for task in ("w0", "w1")}
    assert set(states.values()) == {"done"}
    events = run.journal_file.read_text()
    assert f"check: its baseline, the output of {ALONE}, is missing" in events
    told = build_tables(run).reconstruction.filter(trial=ALONE).row(0, named=True)
    assert (told["exhausted"], told["error"]) == (True, EXHAUSTED.message)
    # The next try has but that to do, and ranks that were timed stay as they are.
    ordered = len(executor.started)
    again = MockExecutor()
    assert execute(run, again, lambda _event: None).incomplete == ()
    assert ordered > len(again.started)
    assert (BOTH, "w0") not in again.started


def test_what_the_node_can_do_is_measured_once_beside_it(sharing: PlanMaker) -> None:
    plan = sharing((2,), with_system=True)
    machine = [trial for trial in plan.trials if trial.is_of_machine]
    assert machine
    assert {trial.workers for trial in machine} == {1}
    assert Sweep.of(plan) == Sweep.of_image((2,))
    assert plan.entries_apart == plan.machine_entries | {ENTRY}
    assert "--with-system" in repeat_line(plan)


def test_it_is_examined_without_looking_for_data(sharing: PlanMaker) -> None:
    subject = Subject.of_plan(sharing())
    assert (subject.reads_movie, subject.movie, subject.workers) == (False, None, 4)
    assert {entry.stage for entry in subject.entries} == {"reconstruct"}
    of_suite = Subject.of_suite("reconstruct", settings_for("reconstruct", {"workers": "1,2"}))
    assert of_suite.workers == 2


class TestFinished:
    @pytest.fixture
    def done(self, sharing: PlanMaker, tmp_path: Path) -> RunFolder:
        run, _ = carried_out(sharing((1, 2)), tmp_path, MockExecutor())
        return run

    def test_its_crate_has_its_table_and_no_input(self, done: RunFolder) -> None:
        tables = build_tables(done)
        write_tables(done.path, tables)
        manifest = build_manifest(done, tables.sources)
        write_manifest(done.path, manifest)
        assert manifest["input"]["path"] is None
        described = json.loads(write_crate(done).read_text())["@graph"]
        assert "#input" not in {entity["@id"] for entity in described}
        (table,) = [one for one in described if one["@id"] == RECONSTRUCTION_FILE]
        assert "iteration" in table["description"]

    def test_the_line_that_repeats_it_has_its_flags_and_no_others(self, done: RunFolder) -> None:
        line = repeat_line(done.plan)
        assert line.startswith(f"pyscale run reconstruct --only {ENTRY} --workers 1,2 --repeats 1")
        for absent in ("--data", "--scaling", "--cache", "--layout"):
            assert absent not in line

    def test_no_reference_is_made_of_its_wall_times(self, done: RunFolder) -> None:
        with pytest.raises(UserError, match="measured distributed reconstruction"):
            reference_from(done, "ours")

    def test_nothing_is_advised_of_ranks_that_measured_nothing(self, done: RunFolder) -> None:
        measured = MeasuredRun.of(done)
        with pytest.raises(UserError, match="no trial of its ranks counts"):
            _of_processing(
                Measured(title="x", measured_for="", trials=measured.trials, plan=done.plan)
            )

    def test_other_parameters_are_other_work(
        self, done: RunFolder, sharing: PlanMaker, tmp_path: Path
    ) -> None:
        changed = sharing((1, 2), stages={ENTRY: {"iterations": 7}})
        assert work_id_of(RunFolder.create(tmp_path / "a", changed)) != work_id_of(done)
        more = sharing((1, 2, 4), repeats=2)
        assert work_id_of(RunFolder.create(tmp_path / "b", more)) == work_id_of(done)

    def test_a_strict_run_compares_its_images(self, done: RunFolder, sharing: PlanMaker) -> None:
        _refuse_blind_gate(done.plan)
        with pytest.raises(UserError, match="this run compares none"):
            _refuse_blind_gate(sharing((2,)))
