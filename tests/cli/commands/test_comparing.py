"""`pyscale compare`: what it says of two runs or two tables, and how it exits."""

import json

import numpy as np
import pytest

from mockexecutor import MockEnd, MockExecutor
from mockruns import carried_out
from pyscale_stages.moviewriter import write_movie
from refusals import assert_refused

GATE = ("--fail-on", "regression")


@pytest.fixture
def compare(pyscale):

    def run(*arguments):
        said = pyscale("compare", *arguments)
        return said if "--json" in arguments else said._replace(out=said.text)

    return run


@pytest.fixture
def measured(make, tmp_path):
    """Pretend to run a stage at N = 1 and 2, six times; some trials take longer, or fail."""

    def measured(slower=("", 1.0), failing=" ", **settings):
        entry, factor = slower
        settings = {"repeats": 6, "retries": 0, "only": ("register_denoise",)} | settings
        blocks = {f"b{block}": 0.01 * block for block in range(1, settings["repeats"] + 1)}

        def behaviour(trial, _task, _spec):
            wall_s = 10 + blocks[trial.rpartition("-")[2]]
            late = factor if trial.startswith(entry or " ") else 1.0
            return MockEnd(wall_s=wall_s * late, returncode=int(trial.startswith(failing)))

        return carried_out(make(**settings), tmp_path, MockExecutor(behaviour))

    return measured


def rows_of(answer):
    found = json.loads(answer.out)["judged"]
    return {(row["stage"], row["workers"]): row for row in found}


def replace(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


class TestRuns:
    @pytest.mark.slow
    def test_a_slowed_stage_is_worse_and_fails_where_that_is_asked_for(self, measured, compare):
        both = ("register_denoise", "segment")
        base, new = measured(only=both), measured(only=both, slower=("segment", 1.2))
        gated = compare(base, new, *GATE, "--json")
        assert gated.code == 1
        assert gated.err == "regression: segment at N = 1 and 2"
        rows = rows_of(gated)
        assert rows["segment", 2]["verdict"] == "worse"
        assert rows["segment", 2]["ratio"] == pytest.approx(1.2)
        assert rows["register_denoise", 2]["verdict"] == "same"
        assert compare(base, new).code == 0
        back = compare(new, base, *GATE, "--json")
        assert (back.code, rows_of(back)["segment", 1]["verdict"]) == (0, "better")

    @pytest.mark.slow
    def test_the_least_change_that_counts_decides_what_is_a_regression(self, measured, compare):
        base, new = measured(), measured(slower=("register_denoise", 1.08))
        assert compare(base, new, *GATE).code == 1
        lenient = compare(base, new, *GATE, "--at-least", "10%")
        assert lenient.code == 0
        assert lenient.out.count("] same") == 2
        assert "within 0.909 to 1.1" in lenient.out
        found = compare(base, new, "--at-least", "10%", "--json")
        assert json.loads(found.out)["at_least"] == 0.1
        close = compare(base, new, *GATE, "--at-least", "8%")
        assert close.code == 0
        assert close.out.count("] slower") == 2
        assert close.err == (
            "no regression, but slower, perhaps by less than 8 %: register_denoise at N = 1 and 2"
        )

    @pytest.mark.slow
    def test_too_few_trials_are_no_verdict_and_cannot_pass_as_no_regression(
        self, measured, compare
    ):
        base, new = measured(), measured(repeats=5, slower=("register_denoise", 9.0))
        answer = compare(base, new, *GATE)
        assert answer.code == 2
        assert "not enough data (1)" in answer.out
        assert " few-repeats: " in answer.out
        assert "--fail-on regression can find none" in answer.err
        assert "--repeats 6 or more" in answer.err
        assert compare(base, new).code == 0

    def test_a_stage_that_fails_now_has_no_verdict_and_the_gate_says_so(self, measured, compare):
        answer = compare(measured(), measured(failing="register_denoise-n2"), *GATE)
        assert answer.code == 0
        assert answer.err == (
            "no regression was found; not enough data to exclude one: register_denoise at N = 2"
        )
        assert "failed-trials: A trial failed" in answer.out


def of_uncommitted_changes(*runs):
    for run in runs:
        provenance = run.path / "provenance.json"
        record = json.loads(provenance.read_text())
        provenance.write_text(json.dumps(record | {"git_commit": "a" * 40, "git_dirty": True}))


def with_another_output(_base, new):
    reference = new.plan.trial("register_denoise-n1-b1")
    replace(new.task(reference, "w0") / "result.json", '"sha256":"mock"', '"sha256":"other"')


def of_a_copy_elsewhere(base, _new):
    provenance = base.path / "provenance.json"
    record = json.loads(provenance.read_text())
    record["input_files"][0] |= {"name": "copy.ome.tif", "modified_ns": 1}
    provenance.write_text(json.dumps(record))


def without_a_trial(_base, new):
    last = new.trial(new.plan.trials[-1])
    last.rename(last.with_name("away"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (of_uncommitted_changes, ["Both ran from one commit with uncommitted changes"]),
        (
            with_another_output,
            [
                "register_denoise: the reference outputs differ (frames.ome.tif)",
                "What segment read was therefore not the same.",
                "have the same bytes: segment.",
            ],
        ),
        (of_a_copy_elsewhere, ["have the same bytes"]),
        (without_a_trial, ["new: 1 of 3 planned trials left no record."]),
    ],
)
def test_what_differs_between_runs_is_said(measured, compare, change, said):
    base, new = (measured(only=("segment",), repeats=1) for _ in range(2))
    change(base, new)
    answer = compare(base, new)
    assert answer.code == 0
    assert [words for words in said if words not in answer.out] == []


class TestRefusesRuns:
    @pytest.mark.parametrize("share", ["5", "0%", "-5%", "100%", "five"])
    def test_for_a_change_that_is_no_share(self, share, compare):
        answer = compare("a", "b", f"--at-least={share}")
        assert_refused(answer)

    @pytest.mark.parametrize(
        ("base", "new"),
        [
            ({}, {"scaling": "weak"}),
            ({"workers": (1,)}, {"workers": (2,)}),
        ],
        ids=["other frames for each N", "no configuration in common"],
    )
    def test_that_have_nothing_to_compare(self, measured, compare, base, new):
        answer = compare(measured(repeats=1, **base), measured(repeats=1, **new))
        assert_refused(answer)

    def test_on_other_bytes_or_that_do_not_tell_what_they_were_made_from(
        self, measured, compare, movie
    ):
        base = measured(repeats=1)
        write_movie(movie, np.ones((8, 4, 4), np.uint16), "TYX")
        new = measured(repeats=1)
        answer = compare(base, new)
        assert answer.out == ""
        assert_refused(answer)
        (base.path / "provenance.json").unlink()
        answer = compare(base, new)
        assert_refused(answer)

    def test_that_are_one(self, measured, compare):
        base = measured(repeats=1)
        assert_refused(compare(base, base.plan.run_id))


class TestTables:
    @pytest.fixture
    def table(self, tmp_path):
        """Write six repeats of one stage at N = 1 that take so many times as long."""

        def table(name, factor=1.0):
            lines = [f"segment,1,{k},{factor * (10 + 0.01 * k)}" for k in range(6)]
            path = tmp_path / name
            path.write_text("\n".join(["stage,workers,repeat,wall_s", *lines]) + "\n")
            return path

        return table

    def test_two_tables_are_compared_and_what_they_leave_open_is_said(self, table, compare):
        gated = (table("a.csv"), table("b.csv", 1.1), *GATE)
        answer = compare(*gated)
        assert answer.code == 1
        assert answer.err == "regression: segment at N = 1"
        assert "1.100 [1.09" in answer.out
        assert "] worse" in answer.out
        assert "Tables of wall times hold no hardware" in answer.out

    def test_what_cannot_be_compared_is_refused(self, table, measured, compare):
        tables = [table("a.csv"), table("b.csv")]
        of_40, of_80 = table("of_40.csv"), table("of_80.csv")
        for path, frames in ((of_40, 40), (of_80, 80)):
            header, *rows = path.read_text().splitlines()
            worked = [f"{header},work", *(f"{row},{frames}" for row in rows)]
            path.write_text("\n".join(worked) + "\n")
        for arguments in (
            (of_40, of_80),
            (tables[0], measured(repeats=1)),
            (tables[0], "c.csv"),
            (tables[0], "a.csv"),
            (*tables, "--fail-on", "weather"),
        ):
            answer = compare(*arguments)
            assert_refused(answer)
            assert "Traceback" not in answer.err
