"""`pyscale advise`: what it says of a run or a table, and of what it cannot use."""

import json
import re
import shlex
from pathlib import Path

import pytest

from commandline import answer_of
from mockexecutor import MockEnd, MockExecutor
from mockruns import carried_out
from pyscale.analysis.advice import Experiment
from pyscale.evaluation.runline import run_line
from pyscale.store.lock import run_lock
from refusals import assert_refused, assert_said

WINDOWS_S = {1: 20.0, 2: 10.4, 4: 8.0}
"""What a window takes at each N: every N has the larger speedup, N = 2 the larger knee."""


@pytest.fixture
def advise(pyscale):
    return lambda *words: pyscale("advise", *words)


@pytest.fixture
def measured(make, tmp_path):
    """Pretend to run a stage at N = 1, 2 and 4, six times."""

    def measured(windows_s=WINDOWS_S, disagreeing=" ", failing=" ", **settings):
        settings = {
            "workers": tuple(windows_s),
            "repeats": 6,
            "retries": 0,
            "only": ("register_denoise",),
        } | settings

        def behaviour(trial, task, _spec):
            _, count, block = trial.rsplit("-", 2)
            wall_s = windows_s[int(count[1:])] * (1 + 0.001 * int(block[1:]))
            return MockEnd(
                wall_s=0.1 if task == "merge" else wall_s,
                agrees=not trial.startswith(disagreeing),
                returncode=int(trial.startswith(failing)),
            )

        return carried_out(make(**settings), tmp_path, MockExecutor(behaviour))

    return measured


def chosen(answer):
    return {
        (stage["name"], choice["objective"]): choice["workers"]
        for stage in json.loads(answer.out)["stages"]
        for choice in stage["choices"]
    }


def times(folder, text):
    path = folder / "times.csv"
    path.write_text(text)
    return path


PUBLISHED = "stage,workers,wall_s\ncontact,1,807\ncontact,2,625\ncontact,4,414\ncontact,8,400\n"


class TestRuns:
    @pytest.mark.slow
    def test_directives_are_for_the_knee_or_for_what_was_asked(self, measured, advise):
        run = measured()
        # The latest run is meant where none is named.
        latest = advise("--why")
        assert f"run {run.plan.run_id}" in latest.text
        assert "N = 4 is the largest measured: a larger one may be better." in latest.text
        line = "  $ pyscale run pipeline --data cancer-migration --only register_denoise --workers"
        assert f"{line} 1,4,8 --repeats 6\n" in latest.out
        assert "#SBATCH --array=0-1%2\n" in advise(run).out
        fastest = advise(run, "--objective", "fastest", "--site", "per_cpu").out
        assert {"#SBATCH --array=0-3%4", "#SBATCH --account=project"} <= {*fastest.splitlines()}
        assert "best value" not in fastest
        assert "maxForks = 2" in advise(run, "--as", "nextflow").out
        assert "register_denoise_workers=1" in advise(run, "--as", "snakemake").out
        # A budget has an answer of its own: 2 x 10.5 s are 0.0059 worker-hours, 4 x 8.1 s 0.0090.
        answer = advise(run, "--objective", "budget=0.006", "--json")
        assert chosen(answer) == {("register_denoise", "budget"): 2}
        assert json.loads(answer.out)["objective"] == "budget"

    @pytest.mark.slow
    def test_a_line_to_paste_is_one_that_pyscale_takes(self, measured, advise, movie, capsys):
        answer = advise(measured(repeats=2, data=str(movie), axes="TYX"), "--json")
        experiments = json.loads(answer.out)["stages"][0]["experiments"]
        assert {one["code"] for one in experiments} == {"few-repeats", "larger"}
        for one in experiments:
            words = shlex.split(one["command"])
            planned = answer_of(capsys, *words, "--dry-run")
            assert planned.code == 0, planned.err
            largest = one["workers"][-1]
            assert re.search(rf"N = .*\b{largest}\b", planned.out)

    @pytest.mark.slow
    def test_few_trials_are_made_surer_by_extending_the_run(self, measured, advise):
        run = measured(repeats=2)
        line = f"For more certainty, run: pyscale extend {run.plan.run_id} --repeats 6\n"
        assert line in advise(run).out
        still_gains = measured(windows_s={1: 20.0, 2: 10.0, 4: 5.0})
        assert "For more certainty, run: pyscale run pipeline " in advise(still_gains).out

    def test_what_stays_in_doubt_is_said(self, measured, advise):
        answer = advise(measured(failing="register_denoise-n2-b3"), "--why")
        assert "`failed-trials` (register_denoise at N = 2): A trial failed" in answer.text
        assert "`few-repeats`" not in answer.text
        assert "Fewer than 6 trials of some N were timed" in answer.text

    def test_a_run_under_way_says_so_and_nothing_is_written(self, measured, advise):
        run = measured()
        before = {*run.path.rglob("*")}
        with run_lock(run.path):
            answer = advise(run)
        assert "is not finished: the advice is from its trials so far" in answer.err
        assert {*run.path.rglob("*")} - before <= {run.path / "lock", run.path / "lock.json"}


class TestRunLines:
    EXPERIMENT = Experiment(code="larger", reason="", workers=(1, 4, 8), repeats=6)

    def test_settings_of_the_run_come_along_and_built_in_ones_do_not(self, make):
        plan = make(cpus_per_worker=2, cache="warm", data="two words")
        on_site = make(executor="slurm", site="my.toml")
        for one in (plan, on_site, make(site="my.toml")):
            assert_said(run_line(one, ["segment"], self.EXPERIMENT))

    def test_parameters_of_its_stages_images_and_a_suite_of_ones_own_come_along(self, make):
        given = {"segment": {"diameter_px": 20, "model": "30"}, "kernels": {"seconds": 1}}
        words = shlex.split(run_line(make(stages=given), ["segment"], self.EXPERIMENT))
        assert words[-4:] == ["--set", "segment.diameter_px=20", "--set", 'segment.model="30"']
        plan = make()
        # They have no flag, so they are a variable.
        images = plan.settings | {"images": {"segment": "mine"}}
        with_images = plan.model_copy(update={"settings": images})
        first, *_ = shlex.split(run_line(with_images, ["segment"], self.EXPERIMENT))
        assert first == 'PYSCALE_IMAGES={"segment": "mine"}'
        own = plan.model_copy(update={"suite": plan.suite.model_copy(update={"is_own": True})})
        assert run_line(own, ["segment"], self.EXPERIMENT).startswith("pyscale run pipeline.toml ")


class TestTables:
    def test_a_table_of_wall_times_is_advised_without_a_line_to_run(self, tmp_path, advise):
        answer = advise("--table", times(tmp_path, PUBLISHED), "--why")
        assert answer.code == 0
        assert "contact best value 1 807 1.00 1.00 807 unknown" in answer.text
        assert "fastest 4 414 1.95 0.49 1656 unknown" in answer.text
        assert "pyscale run" not in answer.out
        # Twice 807 s, in whole 5 minutes.
        assert "#SBATCH --time=00:30:00" in answer.out
        assert "--mem" not in answer.out


PYCYTO = Path(__file__).parents[3] / "config" / "references" / "pycyto.csv"


@pytest.mark.parametrize(
    ("objective", "chosen_n"),
    [
        ("knee", (8, 4, 2, 1, 2)),
        ("fastest", (8, 8, 8, 4, 8)),
        ("most", (8, 8, 8, 4, 2)),
        ("min_efficiency=0.6", (8, 2, 2, 2, 2)),
        ("deadline=10min", (None, 1, 1, 4, 1)),
        ("budget=0.5", (None, 8, 8, 4, 2)),
    ],
)
def test_of_the_published_table_each_objective_chooses_its_n(advise, objective, chosen_n):
    name = objective.partition("=")[0]
    answer = advise("--table", PYCYTO, "--objective", objective, "--json")
    assert tuple(n for (_, one), n in chosen(answer).items() if one == name) == chosen_n


class TestWhatCannotBeUsed:
    def test_there_is_no_run_or_none_with_a_timed_trial(self, measured, advise):
        answer = advise()
        assert answer.out == ""
        assert_refused(answer)
        assert advise("nosuch").code == 2
        run = measured(failing="register_denoise", repeats=1)
        answer = advise(run)
        assert answer.out == ""
        assert_refused(answer)

    @pytest.mark.parametrize(
        "arguments",
        [
            ["--objective", "best"],
            ["--as", "pbs"],
            ["--objective", "budget"],
            ["--objective", "knee=2"],
            ["--objective", "budget=0"],
            ["--objective", "budget=nan"],
            ["--objective", "budget=0.1"],
            ["--objective", "min_efficiency=1.5"],
            ["--objective", "deadline=10"],
            ["--objective", "deadline=10s"],
            ["--objective", "soonest"],
            ["--site", "nosuch"],
            ["a"],
            ["--table", "."],
        ],
        ids=str,
    )
    def test_bad_options_end_in_a_sentence(self, tmp_path, advise, arguments):
        answer = advise("--table", times(tmp_path, PUBLISHED), *arguments)
        assert answer.out == ""
        assert_refused(answer)

    def test_a_reason_that_all_stages_share_is_said_once(self, tmp_path, advise):
        table = PUBLISHED + "track,1,60\ntrack,2,40\ntrack,4,30\ntrack,8,20\n"
        answer = advise("--table", times(tmp_path, table), "--objective", "soonest")
        assert answer.code == 2
        assert "(contact and track: the wait in the queue is not known at N = 1" in answer.err
