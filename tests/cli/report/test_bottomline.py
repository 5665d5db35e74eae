"""The bottom line: a row a stage, the whole, what to request, and how sure that is."""

from dataclasses import replace

import polars as pl
import pytest

from pyscale.analysis.advice import Aim, Experiment, choices
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.evaluation.results import analysed
from pyscale.report.bottomline import bottom_line
from pyscale.report.context import ReportContext
from pyscale.report.terminal import learned
from refusals import assert_said


def of_times(*rows, objective="knee", limit=None, **context):
    """Bottom line of a table of (stage, N, wall time), and which repeat it is."""
    columns = ["stage", "workers", "wall_s", "repeat"][: len(rows[0])]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    about = ReportContext(title="a table", **context)
    results = analysed(trials_from_wall_times(table), about, interleaved=False)
    if limit is not None:
        aims = [Aim(objective=objective, limit=limit)]
        chosen = choices(results.configurations, results.trials, aims=aims)
        results = replace(results, choices=chosen)
    return bottom_line(results, objective)


@pytest.mark.parametrize(
    ("rows", "context"),
    [
        ([("a", 1, 10.0), ("a", 2, 5.0)], {}),
        ([("a", 1, 10.0), ("b", 2, 5.0)], {}),
        ([("a", 1, 10.0), ("b", 1, 5.0)], {"adds_up": False}),
    ],
    ids=["one stage", "no common N", "alternatives"],
)
def test_without_stages_that_add_up_there_is_no_whole(rows, context):
    assert of_times(*rows, **context).total is None


def test_the_request_names_the_best_value_and_the_price_of_the_fastest(new_run):
    line = of_times(("a", 1, 10.0), ("a", 2, 5.0), ("b", 1, 8.0), ("b", 2, 6.0))
    alike = of_times(("a", 1, 10.0), ("a", 2, 5.0), ("b", 1, 8.0), ("b", 2, 4.0))
    assert line.total.requested.wall_s == 13.0
    of_one_n = of_times(("a", 4, 10.0))
    assert (line.confidence, of_one_n.confidence) == ("unknown (1 trial)", "")
    assert "best value" not in of_one_n.model_dump_json(exclude={"stages"})
    assert_said(*line.request, *alike.request, *of_one_n.request)
    other_bytes = new_run().curve(
        "track", lambda n, block: 9.0 / n + 0.01 * block, (1, 2), agreement=1.0, identical=False
    )
    assert_said(bottom_line(other_bytes.results()).outputs_sentence)


def test_an_n_that_is_nearly_the_fastest_is_not_called_the_fastest():
    rows = [("a", 1, 100.0), ("a", 2, 70.0), ("a", 4, 69.0), ("a", 8, 75.0)]
    for objective in ("knee", "fastest"):
        assert_said(*of_times(*rows, objective=objective).request)
        two = of_times(*rows, ("b", 1, 9.0), ("b", 2, 5.0), objective=objective)
        assert_said(*two.request)


def test_within_a_budget_a_refused_stage_is_named_with_its_reason():
    rows = [("a", 1, 3000.0), ("a", 4, 800.0), ("b", 1, 7200.0), ("b", 4, 7000.0)]
    line = of_times(*rows, objective="budget", limit=1.0)
    assert [stage.chosen for stage in line.stages] == [4, None]
    assert line.stages[1].refusal
    assert line.total.requested is None
    assert_said(*line.request)


def test_trust_limit_and_speedup_are_of_the_n_that_the_objective_chose(new_run):
    builder = new_run()
    for n, wall_s in ((1, 10.0), (2, 6.0), (4, 4.5), (8, 9.0)):
        builder.curve(
            "track",
            lambda _, block, wall_s=wall_s: wall_s + 0.01 * block,
            (n,),
            agreement=None if n == 4 else 1.0,
        )
    results = builder.results()
    (knee,), (fastest,) = (bottom_line(results, one).stages for one in ("knee", "fastest"))
    assert (knee.chosen, knee.shown_at, knee.trust) == (2, 2, "yes")
    assert (fastest.chosen, fastest.shown_at, fastest.trust) == (4, 4, "untested")
    assert fastest.best_value == 2


def test_an_undecided_request_names_the_other_n():
    # At N = 2 it is as often better than N = 1 as not.
    trials = [("segment", 1, 10.0 + block, block) for block in range(6)]
    trials += [("segment", 2, (15.0 - block) / 1.41, block) for block in range(6)]
    line = of_times(*trials)
    assert [stage.best_value for stage in line.stages] == [1]
    assert line.confidence == "undecided (56 %, else N = 2)"


@pytest.mark.parametrize(
    ("walls_s", "best", "shown_at", "limit"),
    [
        # Where one worker is best the next N says why, but for whole trials not what limits it.
        (
            {1: 10.0, 2: 9.0, 3: 8.9},
            *(1, 2, "Not known: only whole trials were timed."),
        ),
        ({1: 10.0}, 1, None, "Not known: there is no other N with a valid output."),
    ],
)
def test_the_next_n_says_what_is_gained(walls_s, best, shown_at, limit):
    (line,) = of_times(*(("a", n, wall_s) for n, wall_s in walls_s.items())).stages
    assert (line.best_value, line.limit_sentence) == (best, limit)
    assert (line.shown and line.shown_at) == shown_at
    if shown_at:
        assert line.shown["speedup"] == pytest.approx(walls_s[1] / walls_s[shown_at])


def test_what_asks_for_care_is_told_once_with_its_stages_and_the_next_run_that_has_a_line(
    thin, broken
):
    line = bottom_line(thin)
    assert ([*line.doubts], line.notes, line.next_run) == (["with care"], ("only 2 trials",), None)
    assert any(
        "more workers than cores" in one and ":" not in one for one in line.doubts["with care"]
    )
    assert any(one.startswith("track: ") for one in bottom_line(broken).doubts["with care"])
    runs = [
        Experiment(code="few-repeats", reason=name, workers=(1,), repeats=6, command=command)
        for name, command in (("a", None), ("b", "pyscale run b"), ("c", "pyscale run c"))
    ]
    line = bottom_line(replace(thin, next_runs=tuple(runs)))
    assert line.next_run.command == "pyscale run b"


def test_an_n_whose_output_is_wrong_is_shown_neither_as_a_speedup_nor_as_a_limit(new_run):
    run = new_run().curve(
        "track",
        lambda n, block: (1.0 if n == 2 else 9.0) + 0.01 * block,
        (1, 2, 4),
        agreement=lambda n, _: 0.1 if n == 2 else 1.0,
        same=lambda n, _: n != 2,
    )
    (line,) = bottom_line(run.results()).stages
    assert (line.best_value, line.shown_at) == (1, 4)
    assert " at N = 4" in line.limit_sentence


def test_a_stage_whose_trials_all_failed_has_no_n(new_run):
    builder = new_run().trial("track", [{"compute": 100.0}], failed=["w0"])
    (line,) = bottom_line(builder.results()).stages
    assert line.best_value is None
    assert line.refusal
    assert line.trust == "no"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", 1, 10.0), ("a", 2, 5.0)], "In short: N = 2 makes a 2.00 times as fast."),
        (
            [("a", 1, 10.0), ("a", 2, 5.0), ("b", 1, 2.0), ("b", 2, 3.0)],
            "In short: N = 2 makes a 2.00 times as fast; b gains nothing by more workers: leave it "
            "at one.",
        ),
        ([("a", 1, 10.0)], None),
        ([("a", 2, 10.0), ("a", 4, 12.0)], None),
    ],
)
def test_what_more_workers_did_is_said_in_a_sentence(rows, said):
    assert learned(of_times(*rows)) == said
