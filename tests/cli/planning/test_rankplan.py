"""Plans of ranks that run at the same time: on slides, or on one image that no dataset holds."""

import json
from itertools import pairwise

import pytest

from mockexecutor import MockEnd, MockExecutor
from mockruns import Killed, carried_out, carry_out, events_of, result_of, site
from pyscale.commands.running import _refuse_blind_gate
from pyscale.doctor.examined import firsts, plan_to_examine
from pyscale.errors import UserError
from pyscale.evaluation.advising import advice_of
from pyscale.evaluation.origin import facts
from pyscale.evaluation.runline import repeat_line
from pyscale.measuring.benchmark import plan_run
from pyscale.measuring.trialrunner import TaskWriter
from pyscale.planning.planentry import Dataset
from pyscale.planning.planner import make_plan
from pyscale.planning.resolve_grid import measured_suite, with_system
from pyscale.planning.runsettings import settings_for
from pyscale.planning.suite import load_suite
from pyscale.planning.sweep import Sweep
from pyscale.planning.traits import has_own_work, measures_alone, meets, shares_result, stands_apart
from pyscale.references.fromrun import reference_from
from pyscale.references.workid import work_id_of
from pyscale.runtimes.starting import NativeRuntime
from pyscale.store.crate import write_crate
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest, write_manifest
from pyscale.store.tables import FILES, build_tables, write_tables
from pyscale_stages.contract import TaskError, TaskSpec
from refusals import assert_said, refused

ONE_POINT = {"num_workers": (2,), "pool_size": (8,)}
ENTRIES = {"loader": "loader_num_workers_2_pool_size_8", "reconstruct": "tomography_3d"}
LOADS, SHARES = ENTRIES.values()
ALONE, BOTH, FOUR = (f"{SHARES}-n{ranks}-b1" for ranks in (1, 2, 4))
EXHAUSTED = TaskError(
    kind="ResourceExhausted", message="memory ran out on rank 0 of node n1", exit_code=3
)
every_suite = pytest.mark.parametrize("suite", ENTRIES)


@pytest.fixture
def slides(tmp_path):
    folder = tmp_path / "slides"
    folder.mkdir()
    for number in range(4):
        (folder / f"slide_{number}.svs").write_bytes(bytes([number]))
    return folder


@pytest.fixture
def planned(slides, tmp_path, monkeypatch):
    """Plan one entry of the suite loader or reconstruct, on a machine of eight cores."""
    monkeypatch.setattr("pyscale.planning.resolve_grid.usable_cpus", lambda: list(range(8)))
    monkeypatch.setattr("pyscale.planning.resolve_grid.first_threads", lambda cpus: cpus)

    def plan(name, workers=(1, 2), site=None, **flags):
        loads = name == "loader"
        given = {"repeats": 1, "runs_folder": tmp_path / "runs", **flags}
        settings = settings_for(name, ({"grid": ONE_POINT} if loads else {}) | given)
        suite = measured_suite(load_suite(name), settings, site)
        if settings.with_system:
            suite = with_system(suite, settings, site)
        return make_plan(
            suite,
            Dataset(slides, frames=4) if loads else None,
            run_id="20260317T114224Z-k3f9",
            settings=settings.model_dump(mode="json"),
            workers=workers,
            only=() if loads else (SHARES,),
            site=site,
        )

    return plan


def cluster(**request):
    return site(request={"cpus": 6, **request})


def spec_of(run, trial, task):
    text = (run.task(run.plan.trial(trial), task) / "spec.json").read_text()
    return TaskSpec.model_validate_json(text)


def test_each_of_n_ranks_loads_in_a_task_and_their_outputs_are_joined_and_not_compared(planned):
    plan = planned("loader", (1, 3))
    assert plan.trial(f"{LOADS}-n1-b1").tasks == ("w0",)
    assert plan.trial(f"{LOADS}-n3-b1").tasks == ("w0", "w1", "w2", "merge")
    assert all(meets(trial.stage) for trial in plan.trials)
    assert plan.entries_that(has_own_work) == plan.entries_that(stands_apart) == {LOADS}
    assert plan.title.endswith("suite loader, on synthetic-slides (4 slides)")
    one = plan.model_copy(update={"movie_frames": 1})
    assert one.on_what == "on synthetic-slides (1 slide)"
    assert Sweep.of(plan) == Sweep.without_frames("slides", (1, 3))
    assert "at the same time" in str(Sweep.of(plan))


def test_what_n_ranks_compute_is_joined_and_compared_with_that_of_the_fewest(planned):
    plan = planned("reconstruct", (1, 2, 4))
    assert plan.trial(ALONE).tasks == ("w0",)
    assert plan.trial(FOUR).tasks == ("w0", "w1", "w2", "w3", "merge", "check")
    assert plan.trial(FOUR).windows == ((0, 1), (1, 2), (2, 3), (3, 4))
    assert plan.trial(ALONE).windows == ((0, 1),)
    assert plan.trial(FOUR).reference_trial == ALONE
    assert plan.trials[0].id == ALONE
    assert plan.entries_that(meets) == plan.entries_that(stands_apart) == {SHARES}
    assert plan.entries_that(shares_result) == {SHARES}
    assert plan.entries_that(has_own_work) == frozenset()
    assert plan.title.endswith("suite reconstruct, on images made for it")
    assert plan.measured_for == "images made for it"
    sweep = Sweep.of(plan)
    assert sweep == Sweep.without_frames("phantom", (1, 2, 4))
    assert str(sweep) == "strong: N ranks share the work on one image, the same at every N"
    assert (sweep.is_weak, sweep.feeding) == (False, 1)


@pytest.mark.parametrize(
    ("workers", "site", "flags", "threads"),
    [
        ((1, 3), None, {}, {1: 8, 3: 2}),
        ((1, 3), cluster(), {}, {1: 6, 3: 6}),
        ((1, 3), None, {"cpus_per_worker": 2}, {1: 2, 3: 2}),
        ((4,), None, {"cores": 2}, {4: 1}),
    ],
    ids=["shared here", "each its own on a cluster", "chosen", "more ranks than cores"],
)
def test_ranks_have_the_cores_of_their_machine(planned, monkeypatch, workers, site, flags, threads):
    cores = flags.pop("cores", 8)
    monkeypatch.setattr("pyscale.planning.resolve_grid.usable_cpus", lambda: list(range(cores)))
    plan = planned("loader", workers, site, **flags)
    assert {trial.workers: trial.threads for trial in plan.trials} == threads


@pytest.mark.parametrize(
    ("suite", "flags"),
    [
        ("loader", {"chunks_per_worker": 2}),
        ("loader", {"scaling": "weak"}),
        ("loader", {"axes": "TYX"}),
        ("loader", {"path": "/"}),
        ("loader", {"workers": (1, 5)}),
        ("reconstruct", {"data": "hela-tracking"}),
        ("reconstruct", {"scaling": "strong"}),
        ("reconstruct", {"cache": "warm"}),
        ("reconstruct", {"axes": "TYX"}),
    ],
    ids=str,
)
def test_what_has_no_meaning_for_ranks_is_refused(planned, suite, flags):
    with refused(UserError):
        planned(suite, **flags)


def test_windows_of_an_image_are_refused_wherever_they_were_asked_for(planned, monkeypatch):
    monkeypatch.setenv("PYSCALE_CHUNKS_PER_WORKER", "3")
    with refused(UserError):
        planned("reconstruct")


def test_without_worker_counts_it_measures_as_many_as_are_usual_on_a_cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = ['name = "own"', 'summary = "mine"', 'data = "phantom"', "[stages.reconstruct]"]
    (tmp_path / "own.toml").write_text("\n".join(own))
    settings = settings_for("own.toml", {"repeats": 1, "executor": "slurm", "site": "plain"})
    assert {trial.workers for trial in plan_run("own.toml", settings).trials} == {1, 2, 4, 8}


@every_suite
def test_every_rank_is_told_its_number_and_where_all_of_them_meet(planned, tmp_path, suite):
    run = carried_out(planned(suite, (1, 3)), tmp_path)
    alone, several = (f"{ENTRIES[suite]}-n{ranks}-b1" for ranks in (1, 3))
    specs = [spec_of(run, several, task) for task in ("w0", "w1", "w2")]
    assert [(spec.rank, spec.ranks) for spec in specs] == [(0, 3), (1, 3), (2, 3)]
    assert {(spec.frames, spec.movie_frames) for spec in specs} == {(None, None)}
    (meeting,) = {spec.meeting for spec in specs}
    assert meeting is not None
    assert meeting.parent.is_dir()
    assert not meeting.exists()
    assert meeting.parent.parent == run.trial(run.plan.trial(several))
    # One rank meets nobody, and neither does what joins their outputs.
    joining = spec_of(run, several, "merge")
    assert {(s.ranks, s.meeting) for s in (spec_of(run, alone, "w0"), joining)} == {(1, None)}
    assert not (run.trial(run.plan.trial(alone)) / "meeting").exists()
    assert [name for name, _ in joining.inputs] == ["w0", "w1", "w2"]
    if suite == "reconstruct":
        compared = {"reference": alone, "other": several}
        assert dict(spec_of(run, several, "check").inputs) == {
            name: run.output(run.plan.trial(trial)) for name, trial in compared.items()
        }


def test_the_order_of_a_rank_says_where_to_meet_and_to_tell_how_it_ended(planned, tmp_path):
    run = RunFolder.create(tmp_path / "runs", planned("loader", (1, 3)))
    writer = TaskWriter(run, NativeRuntime())
    trial, alone = (run.plan.trial(f"{LOADS}-n{workers}-b1") for workers in (3, 1))
    orders = [*writer.drafts(trial, ["w2", "merge"], None).values()]
    orders += writer.drafts(alone, ["w0"], None).values()
    meeting = run.trial(trial) / "meeting" / "ranks"
    told = [(order.meeting, order.rank) for order in orders]
    assert told == [(meeting, 2), (None, None), (None, None)]
    argv = orders[0].argv
    given = dict(pairwise(argv))
    assert (given["--rank"], given["--ranks"], given["--meeting"]) == ("2", "3", str(meeting))
    assert "--frames" not in argv


def test_all_ranks_start_at_once_and_each_attempt_meets_anew(planned, tmp_path):
    used = []

    def behaviour(_trial, task, spec):
        if spec.meeting is None:
            return MockEnd()
        used.append(spec.meeting.exists())
        spec.meeting.write_text("somebody was here")
        return MockEnd(returncode=int(len(used) == 3))

    executor = MockExecutor(behaviour)
    run = carried_out(planned("loader", (3,)), tmp_path, executor)
    assert used == [False, True, True, False, True, True]
    assert {batch.at_once for batch in executor.batches if batch.name == "windows"} == {3}
    assert run.attempts(run.plan.trials[0]) == 2


def test_ranks_that_a_dead_pyscale_left_are_started_anew_with_a_meeting_of_their_own(
    planned, tmp_path
):
    run = RunFolder.create(tmp_path / "runs", planned("loader", (2,)))

    def dying(_trial, _task, spec):
        assert spec.meeting is not None
        spec.meeting.write_text("half of them were here")
        raise Killed

    with pytest.raises(Killed):
        carry_out(run, MockExecutor(dying))
    seen = []

    def second(_trial, _task, spec):
        seen.append(spec.meeting is not None and spec.meeting.exists())
        return MockEnd()

    assert carry_out(run, MockExecutor(second)) == ()
    assert not any(seen)


def test_why_a_trial_failed_is_what_its_first_lost_rank_said(planned, tmp_path):
    lost = TaskError(kind="LostRank", message="rank 1 of 2 ended", exit_code=1)
    cause = TaskError(kind="Killed", message="memory ran out", exit_code=3)

    def behaviour(_trial, task, _spec):
        return MockEnd(returncode=1, error=lost if task == "w0" else cause)

    run = carried_out(planned("loader", (2,), retries=0), tmp_path, MockExecutor(behaviour))
    assert [event.detail for event in events_of(run, "trial_failed")] == ["w1: memory ran out"]


def test_an_image_that_does_not_fit_one_rank_is_timed_on_more(planned, tmp_path):
    def behaviour(trial, _task, _spec):
        return MockEnd(returncode=3, error=EXHAUSTED) if trial == ALONE else MockEnd()

    executor = MockExecutor(behaviour)
    run = RunFolder.create(tmp_path / "runs", planned("reconstruct"))
    # Nothing is there to compare it with, which is no reason not to time it.
    assert set(carry_out(run, executor)) == {ALONE, BOTH}
    assert {result_of(run, BOTH, task).status for task in ("w0", "w1")} == {"done"}
    events = run.journal_file.read_text()
    assert f"check: its baseline, the output of {ALONE}, is missing" in events
    told = build_tables(run).reconstruction.filter(trial=ALONE).row(0, named=True)
    assert (told["exhausted"], told["error"]) == (True, EXHAUSTED.message)
    # The next try has but that to do, and ranks that were timed stay as they are.
    again = MockExecutor()
    assert carry_out(run, again) == ()
    assert len(executor.started) > len(again.started)
    assert (BOTH, "w0") not in again.started


@every_suite
def test_what_the_node_can_do_is_measured_once_beside_it(planned, suite):
    plan = planned(suite, (2,), with_system=True)
    machine = [trial.id for trial in plan.trials if measures_alone(trial.stage)]
    assert machine
    assert {plan.trial(trial).workers for trial in machine} == {1}
    assert [trial.id for trial in plan.trials[: len(machine)]] == machine
    assert Sweep.of(plan) == Sweep.without_frames(plan.suite.data, (2,))
    assert plan.entries_that(stands_apart) == plan.entries_that(measures_alone) | {ENTRIES[suite]}
    assert_said(repeat_line(plan))


def test_it_is_examined_without_looking_for_data():
    plan = plan_to_examine("reconstruct", settings_for("reconstruct", {"workers": "1,2"}))
    assert (plan.suite.reads_data, plan.movie) == (False, None)
    assert {trial.stage for trial in firsts(plan)} == {"reconstruct"}
    assert {trial.workers for trial in plan.trials} == {1, 2}


class TestFinished:
    @pytest.fixture
    def done(self, planned, tmp_path):
        return lambda suite: carried_out(planned(suite), tmp_path)

    @every_suite
    def test_no_reference_is_made_of_it_and_nothing_advised_where_it_measured_nothing(
        self, done, suite
    ):
        run = done(suite)
        with refused(UserError):
            reference_from(run, "ours")
        told = advice_of(run, objective=None, dialect="sbatch", site=None)
        assert [(one.trust, one.lines) for one in told.ranks] == [("no", ())]

    def test_its_manifest_crate_and_report_count_slides_and_name_each(self, done):
        run = done("loader")
        manifest = build_manifest(run, build_tables(run).sources)
        assert manifest["input"]["slides"] == 4
        assert "frames" not in manifest["input"]
        told = facts(run.plan, manifest)["Input"]
        assert told["slides"] == "4"
        named = [name for name in told if name.endswith(".svs")]
        assert named == [f"slide_{number}.svs" for number in range(4)]
        write_tables(run.path, build_tables(run))
        write_manifest(run.path, manifest)
        described = json.loads(write_crate(run).read_text())["@graph"]
        (entity,) = [one for one in described if one["@id"] == "#input"]
        assert entity["description"].startswith("The input: 4 slides in 4 files;")

    def test_the_crate_of_an_image_has_its_table_and_no_input(self, done):
        run = done("reconstruct")
        tables = build_tables(run)
        write_tables(run.path, tables)
        manifest = build_manifest(run, tables.sources)
        write_manifest(run.path, manifest)
        assert manifest["input"]["path"] is None
        described = json.loads(write_crate(run).read_text())["@graph"]
        assert "#input" not in {entity["@id"] for entity in described}
        (table,) = [one for one in described if one["@id"] == FILES["reconstruction"]]
        assert "iteration" in table["description"]

    def test_other_parameters_and_other_slides_are_other_work(self, planned, slides, tmp_path):
        def work(name, suite, *given, **flags):
            return work_id_of(RunFolder.create(tmp_path / name, planned(suite, *given, **flags)))

        loads, shares = work("a", "loader"), work("b", "reconstruct")
        assert work("c", "loader", stages={"loader": {"batches": 7}}) != loads
        assert work("d", "reconstruct", stages={SHARES: {"iterations": 7}}) != shares
        assert work("e", "reconstruct", (1, 2, 4), repeats=2) == shares
        (slides / "slide_0.svs").write_bytes(b"other")
        assert work("f", "loader") != loads

    def test_a_strict_run_compares_images_and_no_rates(self, planned):
        _refuse_blind_gate(planned("reconstruct"))
        with refused(UserError):
            _refuse_blind_gate(planned("reconstruct", (2,)))
        with refused(UserError):
            _refuse_blind_gate(planned("loader"))
