"""`pyscale compare`: what it says of two runs or two tables, and how it exits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commandline import Answer, answer_of
from pyscale.benchmark import execute
from pyscale.executors.mock import MockEnd, MockExecutor
from pyscale.plan import Plan
from pyscale.store.folder import RunFolder
from pyscale_stages.contract import TaskSpec
from pyscale_stages.moviewriter import write_movie

RunMaker = Callable[..., RunFolder]


@pytest.fixture
def compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Answer]:
    """Run the command in the folder that holds `runs`, and join its lines."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Answer:
        named = (x.path if isinstance(x, RunFolder) else x for x in arguments)
        said = answer_of(capsys, "pyscale", "compare", *named)
        out = said.out if "--json" in arguments else said.text
        return said._replace(out=out, err=" ".join(said.err.split()))

    return run


@pytest.fixture
def measured(make: Callable[..., Plan], tmp_path: Path) -> RunMaker:
    """Pretend to run a stage at N = 1 and 2, six times; some trials take longer, or fail."""

    def measured(
        slower: tuple[str, float] = ("", 1.0),
        failing: str = " ",
        **settings: Any,
    ) -> RunFolder:
        entry, factor = slower
        settings = {"repeats": 6, "retries": 0, "only": ("register_denoise",)} | settings
        blocks = {f"b{block}": 0.01 * block for block in range(1, settings["repeats"] + 1)}

        def behaviour(trial: str, _task: str, _spec: TaskSpec) -> MockEnd:
            wall_s = 10 + blocks[trial.rpartition("-")[2]]
            late = factor if trial.startswith(entry or " ") else 1.0
            return MockEnd(wall_s=wall_s * late, returncode=int(trial.startswith(failing)))

        run = RunFolder.create(tmp_path / "runs", make(**settings))
        execute(run, MockExecutor(behaviour), lambda _event: None)
        return run

    return measured


def rows_of(answer: Answer) -> dict[tuple[str, int], dict[str, Any]]:
    found = json.loads(answer.out)["configurations"]
    return {(row["stage"], row["workers"]): row for row in found}


class TestRuns:
    def test_runs_that_took_the_same_time_are_the_same_and_nothing_differs(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(), measured()
        # By their ids, as users name them.
        answer = compare(base.plan.run_id, new.plan.run_id, "--fail-on", "regression")
        assert answer.code == 0
        assert "Nothing that was recorded differs between the runs" in answer.out
        assert answer.out.count("[0.99") == answer.out.count("] same") == 2
        assert "over all configurations that have enough of them (2)" in answer.out
        assert (
            "The reference outputs of both runs have the same bytes: register_denoise."
            in answer.out
        )

    @pytest.mark.slow
    def test_a_slowed_stage_is_worse_and_fails_where_that_is_asked_for(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        both = ("register_denoise", "segment")
        base, new = measured(only=both), measured(only=both, slower=("segment", 1.2))
        gated = compare(base, new, "--fail-on", "regression", "--json")
        assert gated.code == 1
        assert gated.err == "regression: segment at N = 1 and 2"
        rows = rows_of(gated)
        assert rows["segment", 2]["verdict"] == "worse"
        assert rows["segment", 2]["ratio"] == pytest.approx(1.2)
        assert rows["register_denoise", 2]["verdict"] == "same"
        assert compare(base, new).code == 0
        back = compare(new, base, "--fail-on", "regression", "--json")
        assert (back.code, rows_of(back)["segment", 1]["verdict"]) == (0, "better")

    @pytest.mark.slow
    def test_the_least_change_that_counts_decides_what_is_a_regression(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(), measured(slower=("register_denoise", 1.08))
        gate = ("--fail-on", "regression")
        assert compare(base, new, *gate).code == 1
        lenient = compare(base, new, *gate, "--at-least", "10%")
        assert lenient.code == 0
        assert lenient.out.count("] same") == 2
        assert "within 0.909 to 1.1" in lenient.out
        found = compare(base, new, "--at-least", "0.1", "--json")
        assert json.loads(found.out)["at_least"] == 0.1
        close = compare(base, new, *gate, "--at-least", "8%")
        assert close.code == 0
        assert close.out.count("] slower") == 2
        assert close.err == (
            "no regression, but slower, perhaps by less than 8 %: register_denoise at N = 1 and 2"
        )

    @pytest.mark.parametrize("share", ["5", "0", "-5%", "100%", "5%%", "five", "nan"])
    def test_a_change_that_is_no_share_is_refused(
        self, share: str, compare: Callable[..., Answer]
    ) -> None:
        answer = compare("a", "b", f"--at-least={share}")
        assert answer.code == 2
        assert answer.err == (
            f"error: --at-least is {share!r}: give a change of more than 0 and less than 100 %, "
            "as in 5% or 0.05"
        )

    @pytest.mark.slow
    def test_what_further_runs_of_the_version_differ_by_is_never_worse(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(), measured(slower=("register_denoise", 1.12))
        alike, slow = measured(), measured(slower=("register_denoise", 1.2))
        gate = ("--fail-on", "regression")
        told = compare(base, new, *gate, "--yardstick", alike.path)
        assert told.code == 1
        assert "Runs of the same version differ by up to 0 %: only a larger change" in told.out
        told = compare(base, new, *gate, "--yardstick", alike.path, "--yardstick", slow.path)
        assert told.code == 0
        assert "Runs of the same version differ by up to 20 %" in told.out
        assert "not enough data (1)" in told.out
        assert "1: The difference is no larger than that between runs" in told.out
        found = json.loads(compare(base, new, "--yardstick", slow.path, "--json").out)
        assert found["yardsticks"] == [str(slow.path)]
        assert found["runs_differ_by"] == pytest.approx(0.2)

    def test_a_yardstick_of_another_version_or_setting_is_refused(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new, other = (measured(repeats=1) for _ in range(3))
        for run, commit in ((base, "a" * 40), (new, "b" * 40), (other, "b" * 40)):
            commit_to(run, commit, dirty=False)
        answer = compare(base, new, "--yardstick", other.path)
        assert answer.code == 2
        assert f"--yardstick {other.plan.run_id} differs from {base.plan.run_id} in code" in (
            answer.err
        )
        warm = measured(repeats=1, cache="warm")
        commit_to(warm, "a" * 40, dirty=False)
        assert "in settings, so that" in compare(base, new, "--yardstick", warm.path).err

    def test_a_yardstick_that_shows_nothing_or_is_one_of_the_two_is_refused(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(repeats=1), measured(repeats=1)
        elsewhere = measured(repeats=1, workers=(4,))
        answer = compare(base, new, "--yardstick", elsewhere.path)
        assert answer.code == 2
        assert "how far runs differ is unknown" in answer.err
        assert "was given twice" in compare(base, new, "--yardstick", new.path).err

    @pytest.mark.slow
    def test_what_would_be_better_is_said(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        said = compare(measured(), measured()).out
        assert "as long as trials do not depend on each other" in said
        assert "`pyscale compare BASE NEW --yardstick RUN`" in said
        assert "`pyscale run SUITE --against BASE` times both versions in the same" in said

    def test_runs_that_gave_n_workers_other_frames_are_refused(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        strong, weak = measured(repeats=1), measured(repeats=1, scaling="weak")
        answer = compare(strong, weak)
        assert answer.code == 2
        assert "at N = 1 did " in answer.err
        assert "those of different work: measure both with as much for each N" in answer.err
        assert compare(weak, measured(repeats=1, scaling="weak")).code == 0

    def test_nothing_is_written_into_either_run(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(repeats=1), measured(repeats=1)

        def files() -> set[Path]:
            return {*base.path.rglob("*"), *new.path.rglob("*")}

        before = files()
        assert compare(base, new).code == 0
        assert files() == before

    def test_other_settings_and_stages_of_one_run_alone_are_said(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(only=("segment",), repeats=1), measured(cache="warm", repeats=1)
        answer = compare(base, new)
        assert answer.out.index("cache cold warm") < answer.out.index("stage N base s")
        assert "Settings differ: each ratio compares them too, not code alone." in answer.out
        assert "In base alone: segment at N = 1 and 2." in answer.out

    def test_other_hardware_makes_it_a_comparison_of_machines(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(repeats=1), measured(repeats=1)
        for result in new.path.rglob("result.json"):
            replace(result, '"stamp":{', '"stamp":{"kernel":"Linux 7","cpu":{"model":"EPYC"},')
        answer = compare(base, new)
        assert "processor - EPYC kernel - Linux 7" in answer.out
        assert "each ratio compares machines, not code alone" in answer.out

    def test_nodes_of_one_kind_are_said_to_be_others(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(repeats=1), measured(repeats=1)
        for launch in new.path.rglob("launch.json"):
            record = json.loads(launch.read_text())
            launch.write_text(json.dumps(record | {"node": "zz-other"}))
        assert "on different nodes of one kind of hardware" in compare(base, new).out

    def test_another_commit_is_a_comparison_of_code(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(repeats=1), measured(repeats=1)
        for run, commit in ((base, "a" * 40), (new, "b" * 40)):
            commit_to(run, commit, dirty=False)
        answer = compare(base, new)
        assert f"pyscale's commit {'a' * 12} {'b' * 12}" in answer.out
        assert "hardware and settings are the same: the code differs" in answer.out

    def test_changes_that_nobody_committed_are_no_proof_of_the_same_code(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(repeats=1), measured(repeats=1)
        for run in (base, new):
            commit_to(run, "a" * 40, dirty=True)
        assert "Both ran from one commit with uncommitted changes" in compare(base, new).out

    def test_outputs_that_differ_are_said_and_what_read_them_too(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = (measured(only=("segment",), repeats=1) for _ in range(2))
        reference = new.plan.trial("register_denoise-n1-b1")
        assert reference.is_reference
        result = new.task(reference, "w0") / "result.json"
        replace(result, '"sha256":"mock"', '"sha256":"other"')
        answer = compare(base, new)
        assert "register_denoise: the reference outputs differ (frames.ome.tif)" in answer.out
        assert "What segment read was therefore not the same." in answer.out
        assert "have the same bytes: segment." in answer.out

    @pytest.mark.slow
    def test_too_few_trials_are_no_verdict_and_cannot_pass_as_no_regression(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(), measured(repeats=5, slower=("register_denoise", 9.0))
        answer = compare(base, new, "--fail-on", "regression")
        assert answer.code == 2
        assert "not enough data (1)" in answer.out
        assert "n few-repeats: " in answer.out
        assert "--fail-on regression can find none" in answer.err
        assert "--repeats 6 or more" in answer.err
        assert compare(base, new).code == 0

    def test_a_stage_that_fails_now_has_no_verdict_and_the_gate_says_so(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(), measured(failing="register_denoise-n2")
        answer = compare(base, new, "--fail-on", "regression")
        assert answer.code == 0
        assert answer.err == (
            "no regression was found; not enough data to exclude one: register_denoise at N = 2"
        )
        assert "failed-trials: A trial failed" in answer.out

    def test_runs_on_other_bytes_are_refused(
        self, measured: RunMaker, compare: Callable[..., Answer], movie: Path
    ) -> None:
        base = measured(repeats=1)
        write_movie(movie, np.ones((8, 4, 4), np.uint16), "TYX")
        answer = compare(base, measured(repeats=1))
        assert answer.code == 2
        assert "whose bytes are not the same" in answer.err
        assert answer.out == ""

    def test_a_copy_of_the_dataset_elsewhere_is_the_same_input(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(repeats=1), measured(repeats=1)
        provenance = new.path / "provenance.json"
        record = json.loads(provenance.read_text())
        record["input_files"][0] |= {"name": "copy.ome.tif", "modified_ns": 1}
        provenance.write_text(json.dumps(record))
        assert compare(base, new).code == 0

    def test_runs_without_a_configuration_in_common_are_refused(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(workers=(1,), repeats=1), measured(workers=(2,), repeats=1)
        answer = compare(base, new)
        assert answer.code == 2
        assert "have no configuration (stage, device and N) in common" in answer.err

    def test_one_run_twice_is_refused(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        run = measured(repeats=1)
        answer = compare(run, run.plan.run_id)
        assert answer.code == 2
        assert "was given twice" in answer.err

    def test_trials_that_left_no_record_are_counted(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(repeats=1), measured(repeats=1)
        last = new.plan.trials[-1]
        new.trial(last).rename(new.trial(last).with_name("away"))
        planned = len(new.plan.trials)
        assert f"new: 1 of {planned} planned trials left no record." in compare(base, new).out

    def test_a_run_that_does_not_tell_what_it_was_made_from_is_refused(
        self, measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        base, new = measured(repeats=1), measured(repeats=1)
        (base.path / "provenance.json").unlink()
        answer = compare(base, new)
        assert answer.code == 2
        assert "provenance.json is missing or unreadable" in answer.err


class TestTables:
    @pytest.fixture
    def table(self, tmp_path: Path) -> Callable[..., Path]:
        """Write six repeats of one stage at N = 1 that take so many times as long."""

        def table(name: str, factor: float = 1.0) -> Path:
            lines = [f"segment,1,{k},{factor * (10 + 0.01 * k)}" for k in range(6)]
            path = tmp_path / name
            path.write_text("\n".join(["stage,workers,repeat,wall_s", *lines]) + "\n")
            return path

        return table

    def test_two_tables_are_compared_and_what_they_leave_open_is_said(
        self, table: Callable[..., Path], compare: Callable[..., Answer]
    ) -> None:
        answer = compare(table("a.csv"), table("b.csv", 1.1), "--fail-on", "regression")
        assert answer.code == 1
        assert answer.err == "regression: segment at N = 1"
        assert "1.100 [1.09" in answer.out
        assert "] worse" in answer.out
        assert "Tables of wall times hold no hardware" in answer.out

    @pytest.mark.parametrize(
        ("factor", "unit"),
        [(1000, "milliseconds"), (1 / 1080, "milliseconds"), (1 / 60, "minutes")],
    )
    def test_a_table_in_another_unit_is_hinted_at(
        self, factor: float, unit: str, table: Callable[..., Path], compare: Callable[..., Answer]
    ) -> None:
        answer = compare(table("a.csv"), table("b.csv", factor))
        assert f"if one of the tables is in {unit}, convert it to seconds" in answer.out
        plain = compare(table("a.csv"), table("c.csv", 20))
        assert "convert it" not in plain.out

    def test_tables_can_be_yardsticks_of_tables(
        self, table: Callable[..., Path], compare: Callable[..., Answer]
    ) -> None:
        tables = [table(f"{name}.csv", factor) for name, factor in (("a", 1), ("b", 1.1))]
        gated = (*tables, "--fail-on", "regression")
        assert compare(*gated, "--yardstick", table("c.csv", 1.02)).code == 1
        assert compare(*gated, "--yardstick", table("d.csv", 1.2)).code == 0

    def test_tables_of_different_work_are_refused(
        self, table: Callable[..., Path], compare: Callable[..., Answer]
    ) -> None:
        tables = [table("a.csv"), table("b.csv")]
        for path, frames in zip(tables, (40, 80), strict=True):
            header, *rows = path.read_text().splitlines()
            worked = [f"{header},work", *(f"{row},{frames}" for row in rows)]
            path.write_text("\n".join(worked) + "\n")
        answer = compare(*tables)
        assert answer.code == 2
        assert "segment at N = 1 did 40 in " in answer.err
        assert "a.csv and 80 in " in answer.err

    def test_a_table_and_a_run_are_refused(
        self, table: Callable[..., Path], measured: RunMaker, compare: Callable[..., Answer]
    ) -> None:
        answer = compare(table("a.csv"), measured(repeats=1))
        assert answer.code == 2
        assert "give runs alone, or tables alone" in answer.err

    def test_a_name_of_nothing_is_refused(
        self, table: Callable[..., Path], compare: Callable[..., Answer]
    ) -> None:
        answer = compare(table("a.csv"), "b.csv")
        assert answer.code == 2
        assert "unknown run b.csv in runs" in answer.err
        assert "Traceback" not in answer.err

    def test_one_table_twice_is_refused(
        self, table: Callable[..., Path], compare: Callable[..., Answer]
    ) -> None:
        answer = compare(table("a.csv"), "a.csv")
        assert answer.code == 2
        assert "was given twice" in answer.err

    def test_only_regressions_can_be_failed_on(self, compare: Callable[..., Answer]) -> None:
        answer = compare("a", "b", "--fail-on", "weather")
        assert answer.code == 2
        assert "'weather' is not one of 'regression'" in answer.err


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def commit_to(run: RunFolder, commit: str, *, dirty: bool) -> None:
    provenance = run.path / "provenance.json"
    record = json.loads(provenance.read_text())
    provenance.write_text(json.dumps(record | {"git_commit": commit, "git_dirty": dirty}))
