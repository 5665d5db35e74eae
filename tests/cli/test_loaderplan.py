"""A plan of loading patches: ranks that all run at the same time, on slides and not on frames."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.advicesource import Measured
from pyscale.advising import _of_processing
from pyscale.benchmark import Outcome, execute
from pyscale.betweenruns import MeasuredRun, between
from pyscale.dryrun import show
from pyscale.errors import UserError
from pyscale.executors.mock import MockEnd, MockExecutor
from pyscale.executors.submission import submissions
from pyscale.gridhere import measured_suite
from pyscale.origin import facts
from pyscale.plan import Plan
from pyscale.planning import Dataset, make_plan
from pyscale.references.fromrun import reference_from
from pyscale.references.workid import work_id_of
from pyscale.runline import repeat_line
from pyscale.running import _refuse_blind_gate
from pyscale.runsettings import settings_for
from pyscale.runtimes.protocol import NativeRuntime
from pyscale.sites import Site
from pyscale.store.crateinput import add_input
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.manifest import build_manifest
from pyscale.store.taskfiles import read_task
from pyscale.suite import load_suite
from pyscale.sweep import Sweep
from pyscale.taskwriter import TaskWriter
from pyscale.withsystem import with_system
from pyscale_stages.contract import TaskError, TaskSpec

PlanMaker = Callable[..., Plan]
ONE_POINT = {"num_workers": (2,), "pool_size": (8,)}
ENTRY = "loader_num_workers_2_pool_size_8"


@pytest.fixture
def slides(tmp_path: Path) -> Path:
    """A folder of four files that are called like slides."""
    folder = tmp_path / "slides"
    folder.mkdir()
    for number in range(4):
        (folder / f"slide_{number}.svs").write_bytes(bytes([number]))
    return folder


@pytest.fixture
def loading(slides: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlanMaker:
    """Plan one point of the suite loader on a machine of eight cores."""
    monkeypatch.setattr("pyscale.gridhere.usable_cpus", lambda: list(range(8)))
    monkeypatch.setattr("pyscale.gridhere.first_threads", lambda cpus: cpus)

    def plan(workers: tuple[int, ...] = (1, 3), site: Site | None = None, **flags: object) -> Plan:
        given = {"grid": ONE_POINT, "repeats": 1, "runs_folder": tmp_path / "runs", **flags}
        settings = settings_for("loader", given)
        suite = measured_suite(load_suite("loader"), settings, site)
        if settings.with_system:
            suite = with_system(suite, settings, site)
        return make_plan(
            suite,
            Dataset(slides, frames=4),
            run_id="20260317T114224Z-k3f9",
            settings=settings.model_dump(mode="json"),
            workers=workers,
            site=site,
        )

    return plan


def cluster() -> Site:
    return Site.model_validate({"name": "mine", "summary": "ours", "request": {"cpus": 6}})


def made(plan: Plan, tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "runs", plan)


def carried_out(run: RunFolder, executor: MockExecutor) -> Outcome:
    return execute(run, executor, lambda _event: None)


def spec_of(run: RunFolder, trial: str, task: str) -> TaskSpec:
    text = (run.task(run.plan.trial(trial), task) / "spec.json").read_text()
    return TaskSpec.model_validate_json(text)


def test_each_of_n_ranks_is_a_task_and_their_outputs_are_joined_and_not_compared(
    loading: PlanMaker,
) -> None:
    plan = loading()
    assert plan.trial(f"{ENTRY}-n1-b1").tasks == ("w0",)
    assert plan.trial(f"{ENTRY}-n3-b1").tasks == ("w0", "w1", "w2", "merge")
    assert all(trial.is_of_ranks for trial in plan.trials)
    assert plan.loader_entries == plan.entries_apart == {ENTRY}


def test_its_title_counts_slides(loading: PlanMaker) -> None:
    assert loading().title.endswith("suite loader, on synthetic-slides (4 slides)")
    one = loading().model_copy(update={"movie_frames": 1})
    assert one.on_what == "on synthetic-slides (1 slide)"


def test_the_sweep_of_its_plan_says_that_ranks_load_at_the_same_time(loading: PlanMaker) -> None:
    assert Sweep.of(loading()) == Sweep.of_ranks((1, 3))
    assert "at the same time" in str(Sweep.of(loading()))


def test_ranks_of_this_machine_share_its_cores_and_those_of_a_cluster_have_their_own(
    loading: PlanMaker,
) -> None:
    here, there = loading((1, 3)), loading((1, 3), site=cluster())
    assert {trial.workers: trial.threads for trial in here.trials} == {1: 8, 3: 2}
    assert {trial.workers: trial.threads for trial in there.trials} == {1: 6, 3: 6}


def test_cores_that_were_chosen_are_those_of_each_rank(loading: PlanMaker) -> None:
    plan = loading((1, 3), cpus_per_worker=2)
    assert {trial.threads for trial in plan.trials} == {2}


def test_more_ranks_than_cores_have_one_each(loading: PlanMaker) -> None:
    settings = settings_for("loader", {"grid": ONE_POINT})
    suite = measured_suite(load_suite("loader"), settings, None)
    plan = make_plan(
        suite,
        Dataset(Path("slides"), frames=20),
        run_id="one",
        settings=settings.model_dump(mode="json"),
        workers=(20,),
    )
    assert {trial.threads for trial in plan.trials} == {1}


def test_a_cluster_starts_all_ranks_by_one_job(loading: PlanMaker) -> None:
    trial = loading((3,), site=cluster()).trials[0]
    windows, merge = submissions(trial)
    assert (windows.is_gang, windows.tasks, windows.at_once) == (True, 3, 3)
    assert not merge.is_gang


@pytest.mark.parametrize(
    ("flags", "site", "sentence"),
    [
        ({"layout": "array"}, cluster(), f"ranks of {ENTRY} wait for each other"),
        ({"chunks_per_worker": 2}, None, "--chunks-per-worker 2 does not apply"),
        ({"scaling": "weak"}, None, "--scaling: the suite loader loads patches of slides"),
        ({"axes": "TYX"}, None, "--axes: the suite loader loads patches of slides"),
        ({"path": "/"}, None, "the suite loader measures no folder"),
    ],
)
def test_what_has_no_meaning_for_ranks_is_refused(
    loading: PlanMaker, flags: dict[str, object], site: Site | None, sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        loading(site=site, **flags)


def test_a_layout_of_clusters_says_nothing_on_this_machine(loading: PlanMaker) -> None:
    assert {trial.layout for trial in loading(layout="array").trials} == {"gang"}


def test_more_ranks_than_slides_are_refused(loading: PlanMaker, slides: Path) -> None:
    with pytest.raises(UserError, match=f"each of 5 ranks .* but {slides} has 4 slides: use fewer"):
        loading((1, 5))


def test_the_dry_run_shows_ranks_and_no_frames(
    loading: PlanMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    show(loading())
    out = capsys.readouterr().out
    assert "slides" in out
    assert "frames" not in out
    assert "windows" not in out
    assert "N ranks load patches at the same time" in out


def test_every_rank_is_told_its_number_and_where_all_of_them_meet(
    loading: PlanMaker, tmp_path: Path
) -> None:
    run = made(loading(), tmp_path)
    assert carried_out(run, MockExecutor()).incomplete == ()
    specs = [spec_of(run, f"{ENTRY}-n3-b1", task) for task in ("w0", "w1", "w2")]
    assert [(spec.rank, spec.ranks) for spec in specs] == [(0, 3), (1, 3), (2, 3)]
    assert {(spec.frames, spec.movie_frames) for spec in specs} == {(None, None)}
    (meeting,) = {spec.meeting for spec in specs}
    assert meeting is not None
    assert meeting.parent.is_dir()
    assert not meeting.exists()
    assert meeting.parent.parent == run.trial(run.plan.trial(f"{ENTRY}-n3-b1"))


def test_one_rank_meets_nobody_and_neither_does_what_joins_their_outputs(
    loading: PlanMaker, tmp_path: Path
) -> None:
    run = made(loading(), tmp_path)
    carried_out(run, MockExecutor())
    alone, joining = spec_of(run, f"{ENTRY}-n1-b1", "w0"), spec_of(run, f"{ENTRY}-n3-b1", "merge")
    assert {(spec.ranks, spec.meeting) for spec in (alone, joining)} == {(1, None)}
    assert not (run.trial(run.plan.trial(f"{ENTRY}-n1-b1")) / "meeting").exists()
    assert [name for name, _ in joining.inputs] == ["w0", "w1", "w2"]


def test_the_command_line_of_a_rank_says_the_same(loading: PlanMaker, tmp_path: Path) -> None:
    run = made(loading(), tmp_path)
    writer, trial = TaskWriter(run, NativeRuntime()), run.plan.trial(f"{ENTRY}-n3-b1")
    writer.write_spec(trial, "w2")
    (order,) = writer.drafts(trial, ["w2"], None).values()
    given = dict(zip(order.argv, order.argv[1:], strict=False))
    assert (given["--rank"], given["--ranks"]) == ("2", "3")
    assert given["--meeting"] == str(run.trial(trial) / "meeting" / "ranks")
    assert "--frames" not in order.argv


def test_the_order_of_a_rank_says_where_to_tell_how_it_ended(
    loading: PlanMaker, tmp_path: Path
) -> None:
    run = made(loading(), tmp_path)
    writer = TaskWriter(run, NativeRuntime())
    trial, alone = (run.plan.trial(f"{ENTRY}-n{workers}-b1") for workers in (3, 1))
    orders = [*writer.drafts(trial, ["w2", "merge"], None).values()]
    orders += writer.drafts(alone, ["w0"], None).values()
    of_rank = (run.trial(trial) / "meeting" / "ranks", 2)
    told = [(order.meeting, order.rank) for order in orders]
    assert told == [of_rank, (None, None), (None, None)]


def test_all_ranks_start_at_once_and_each_attempt_meets_anew(
    loading: PlanMaker, tmp_path: Path
) -> None:
    run = made(loading((3,)), tmp_path)
    trial = run.plan.trials[0]
    used: list[bool] = []

    def behaviour(_trial: str, task: str, spec: TaskSpec) -> MockEnd:
        if spec.meeting is None:
            return MockEnd()
        used.append(spec.meeting.exists())
        spec.meeting.write_text("somebody was here")
        return MockEnd(returncode=int(len(used) == 3))

    executor = MockExecutor(behaviour)
    assert carried_out(run, executor).incomplete == ()
    assert used == [False, True, True, False, True, True]
    assert {batch.at_once for batch in executor.batches if batch.name == "windows"} == {3}
    assert run.attempts(trial) == 2


def test_ranks_that_a_dead_pyscale_left_are_started_anew_with_a_meeting_of_their_own(
    loading: PlanMaker, tmp_path: Path
) -> None:
    run = made(loading((2,)), tmp_path)

    def dying(_trial: str, _task: str, spec: TaskSpec) -> MockEnd:
        assert spec.meeting is not None
        spec.meeting.write_text("half of them were here")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carried_out(run, MockExecutor(dying))
    seen: list[bool] = []

    def second(_trial: str, _task: str, spec: TaskSpec) -> MockEnd:
        seen.append(spec.meeting is not None and spec.meeting.exists())
        return MockEnd()

    assert carried_out(run, MockExecutor(second)).incomplete == ()
    assert not any(seen)


def test_why_a_trial_failed_is_what_its_first_lost_rank_said(
    loading: PlanMaker, tmp_path: Path
) -> None:
    run = made(loading((2,), retries=0), tmp_path)
    lost = TaskError(kind="LostRank", message="rank 1 of 2 ended", exit_code=1)
    cause = TaskError(kind="Killed", message="memory ran out", exit_code=3)

    def behaviour(_trial: str, task: str, _spec: TaskSpec) -> MockEnd:
        return MockEnd(returncode=1, error=lost if task == "w0" else cause)

    assert carried_out(run, MockExecutor(behaviour)).complete == ()
    (told,) = [
        event.detail for event in Journal(run.journal_file).read() if event.kind == "trial_failed"
    ]
    assert told == "w1: memory ran out"


def test_what_the_node_can_do_is_measured_once_beside_it(loading: PlanMaker) -> None:
    plan = loading((2,), with_system=True)
    machine = [trial for trial in plan.trials if trial.is_of_machine]
    assert [trial.id for trial in plan.trials[: len(machine)]] == [trial.id for trial in machine]
    assert {trial.workers for trial in machine} == {1}
    assert Sweep.of(plan) == Sweep.of_ranks((2,))
    assert plan.entries_apart == plan.machine_entries | {ENTRY}


class TestFinished:
    @pytest.fixture
    def done(self, loading: PlanMaker, tmp_path: Path) -> RunFolder:
        run = made(loading(), tmp_path)
        carried_out(run, MockExecutor())
        return run

    def test_its_manifest_and_report_count_slides_and_name_each(self, done: RunFolder) -> None:
        manifest = build_manifest(done)
        assert manifest["input"]["slides"] == 4
        assert "frames" not in manifest["input"]
        told = facts(done.plan, manifest)["Input"]
        assert told["slides"] == "4"
        assert [name for name in told if name.endswith(".svs")] == [
            f"slide_{number}.svs" for number in range(4)
        ]

    def test_its_crate_says_that_slides_were_the_input(self, done: RunFolder) -> None:
        from rocrate.rocrate import ROCrate

        entity = add_input(ROCrate(), done.plan, build_manifest(done)["input"])
        assert entity is not None
        assert str(entity["description"]).startswith("The input: 4 slides in 4 file(s);")

    def test_the_line_that_repeats_it_has_its_flags_and_no_others(self, done: RunFolder) -> None:
        line = repeat_line(done.plan)
        assert line.startswith("pyscale run loader --data synthetic-slides --workers 1,3 ")
        assert "--grid num_workers=2" in line
        assert "--layout" not in line
        assert "--scaling" not in line

    def test_no_reference_is_made_of_its_wall_times(self, done: RunFolder) -> None:
        with pytest.raises(UserError, match="measured the loading of patches"):
            reference_from(done, "ours")

    def test_nothing_is_advised_of_ranks_that_loaded_nothing(self, done: RunFolder) -> None:
        measured = MeasuredRun.of(done)
        with pytest.raises(UserError, match="no trial of its ranks counts"):
            _of_processing(
                Measured(title="x", measured_for="", trials=measured.trials, plan=done.plan)
            )

    def test_two_runs_of_it_are_compared_by_neither_wall_times_nor_outputs(
        self, done: RunFolder
    ) -> None:
        measured = MeasuredRun.of(done)
        assert measured.trials.height == 2
        assert measured.compared_trials.is_empty()
        assert between(measured, measured).outputs == ()

    def test_other_parameters_and_other_slides_are_other_work(
        self, done: RunFolder, loading: PlanMaker, slides: Path, tmp_path: Path
    ) -> None:
        stages = {"loader": {"batches": 7}}
        other = RunFolder.create(tmp_path / "others", loading(stages=stages))
        assert work_id_of(other) != work_id_of(done)
        (slides / "slide_0.svs").write_bytes(b"other")
        changed = RunFolder.create(tmp_path / "changed", loading())
        assert work_id_of(changed) != work_id_of(done)

    def test_a_strict_run_would_compare_nothing(self, done: RunFolder) -> None:
        with pytest.raises(UserError, match="rates of loading patches never are the same"):
            _refuse_blind_gate(done.plan)

    def test_every_record_of_it_is_read_again(self, done: RunFolder) -> None:
        plan = Plan.model_validate(json.loads((done.path / "plan.json").read_text()))
        assert plan == done.plan
        for trial in plan.trials:
            assert {read_task(done.task(trial, task)).state for task in trial.tasks} == {"done"}
