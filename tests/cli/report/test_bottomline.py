"""The bottom line: a row a stage, the whole, what to request, and how sure that is."""

from dataclasses import replace

import polars as pl
import pytest

from pyscale.analysis.experiments import Experiment
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.evaluation.results import analysed
from pyscale.report.bottomline import bottom_line
from pyscale.report.context import ReportContext, Work


def of_times(*rows, **context):
    """Bottom line of a table of (stage, N, wall time), and which repeat it is."""
    columns = ["stage", "workers", "wall_s", "repeat"][: len(rows[0])]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    about = ReportContext(title="a table", **context)
    return bottom_line(analysed(trials_from_wall_times(table), about, interleaved=False))


def test_every_stage_has_a_row_with_its_times_and_what_ran(full):
    works = {"segment": Work(data="a movie", how="Cellpose 3.1, pyscale-tiny")}
    about = full.context.model_copy(update={"works": works})
    first, segment, *others = bottom_line(replace(full, context=about)).stages
    assert [stage.name for stage in (first, segment, *others)] == [
        *("register_denoise", "segment", "contact", "track")
    ]
    assert (first.algorithm, segment.algorithm) == (None, "Cellpose 3.1, pyscale-tiny")
    own = full.configurations.filter(stage="segment")
    assert [one.workers for one in segment.points] == own["workers"].to_list()
    assert [one.wall_s for one in segment.points] == own["wall_s"].to_list()
    assert {one.ends for one in segment.points} == {"interval"}
    assert segment.limit == "start-up"


def test_of_few_trials_there_is_a_range_and_of_one_trial_nothing(thin):
    (first, *_) = bottom_line(thin).stages[0].points
    assert first.ends == "range"
    assert first.low_s < first.wall_s < first.high_s
    alone = of_times(("a", 1, 9.0), ("a", 2, 5.0)).stages[0].points[0]
    assert (alone.ends, alone.low_s) == (None, None)


def test_the_whole_is_the_sum_at_every_n_that_all_stages_have():
    rows = [("a", 1, 10.0), ("a", 2, 5.0), ("a", 4, 3.0), ("b", 1, 2.0), ("b", 2, 3.0)]
    total = of_times(*rows).total
    assert total.name == "all stages"
    assert [(one.workers, one.wall_s) for one in total.points] == [(1, 12.0), (2, 8.0)]
    assert total.shown.speedup == pytest.approx(1.5)
    assert of_times(*rows, adds_up=True).total.name == "whole pipeline"


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


def test_outputs_are_equal_agree_differ_or_are_not_checked(full, broken):
    line = bottom_line(full)
    assert line.outputs == "agree"
    assert line.outputs_sentence == (
        "Outputs: agree within tolerance at every N (lowest score 0.9970)."
    )
    differ = bottom_line(broken)
    assert differ.outputs == "differ"
    assert differ.outputs_sentence.endswith("track at N = 4.")
    assert of_times(("a", 1, 9.0), ("a", 2, 5.0)).outputs_sentence == "Outputs: not checked."


def test_the_request_names_the_best_value_and_the_price_of_the_fastest():
    line = of_times(("a", 1, 10.0), ("a", 2, 5.0), ("b", 1, 8.0), ("b", 2, 6.0))
    assert line.request == (
        "Request N = 2 for a and N = 1 for b (best value); fastest: N = 2 for b, 1.50 times the "
        "worker-hours for 25 % less time.",
    )
    alike = of_times(("a", 1, 10.0), ("a", 2, 5.0), ("b", 1, 8.0), ("b", 2, 4.0))
    assert alike.request == (
        "Request N = 2 for every stage (best value); also the fastest measured.",
    )
    assert line.confidence == "unknown (1 trial)"


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
        assert line.shown.speedup == pytest.approx(walls_s[1] / walls_s[shown_at])


def test_of_one_n_it_right_sizes_and_speaks_of_no_best_value(full):
    line = of_times(("a", 4, 10.0))
    assert line.request == (
        "Request for each task: 5 min (N = 4). Measured at one N: no speedup is known.",
    )
    assert line.confidence == ""
    assert "best value" not in line.model_dump_json(exclude={"stages"})
    # Without stages over N it is empty.
    empty = replace(full, configurations=full.configurations.clear())
    assert bottom_line(empty).stages == ()


def test_what_asks_for_care_is_told_once_with_its_stages_and_the_next_run_that_has_a_line(
    thin, broken
):
    line = bottom_line(thin)
    assert (line.trust, line.notes, line.next_run) == ("with care", ("fewer than 6 trials",), None)
    assert any("more workers than cores" in one and ":" not in one for one in line.care)
    assert any(one.startswith("track: ") for one in bottom_line(broken).care)
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
