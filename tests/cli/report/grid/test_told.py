"""Every sentence on a sweep follows from a number, and is as sure as it is."""

from dataclasses import replace

import polars as pl
import pytest

from asread import printed
from madeupgrid import made_up
from pyscale.analysis.grid.findings import GridFindings
from pyscale.report.csv import csv_texts, write_csv
from pyscale.report.grid.section import not_compared, section, trust_in_sweep
from pyscale.report.grid.sweep import sweeps
from pyscale.report.markdown import write_markdown
from pyscale.report.page.write import write_page
from pyscale.report.terminal import summary_of
from refusals import assert_said


def changed(results, **changes):
    """The same of a grid that found something else."""
    (grid,) = results.every(GridFindings)
    return replace(results, kinds=(replace(grid, **changes),))


def told(results):
    """Everything but tables: answers, then sentences."""
    found = section(results)
    answers = [answer.text for one in found.answered for answer in one.answers]
    return [*answers, *(sentence for block in found.blocks for sentence in block.said)]


def test_a_ratio_whose_interval_holds_one_is_not_called_faster(both):
    (grid,) = both.every(GridFindings)
    ratios = grid.ratios.with_columns(ratio_low=pl.lit(0.9), ratio_high=pl.lit(1.2))
    said = told(changed(both, ratios=ratios))
    assert "times as fast" not in " ".join(said)
    assert_said(*said)


def test_other_shapes_are_told_as_what_they_are(both):
    (grid,) = both.every(GridFindings)
    for shape in ("undecided", "logarithmic"):
        other = tuple(one.model_copy(update={"shape": shape}) for one in grid.ceilings)
        assert_said(told(changed(both, ceilings=other))[0])


def test_too_few_sizes_have_no_ceiling_and_one_device_or_nothing_timed_no_ratio(
    both, thin, cpu_alone
):
    alone = made_up(("cuda",), (224, 448, 672), repeats=2)
    nothing = pl.col("^(steady|first|start|published)_s.*$")
    (grid,) = both.every(GridFindings)
    points = grid.points.with_columns(nothing * None)
    untimed = changed(both, points=points, ratios=grid.ratios.clear())
    assert "ratios" not in csv_texts(cpu_alone)
    for results in (thin, cpu_alone, alone, untimed):
        assert_said(*told(results))
    (sweep,) = sweeps(both.every(GridFindings))
    empty = replace(sweep.grid, ratios=sweep.grid.ratios.clear())
    assert_said(not_compared(replace(sweep, grid=empty)))


def test_where_it_wins_is_a_measured_size(both):
    (grid,) = both.every(GridFindings)
    for changes in (
        {},
        {"from_px": 448.0, "not_at_px": 224.0},
        {"from_px": None, "not_at_px": 2352.0},
    ):
        wins = tuple(one.model_copy(update=changes) for one in grid.wins)
        assert_said(*(one for one in told(changed(both, wins=wins)) if "faster than" in one))


def test_what_the_time_of_a_call_is_follows_from_what_was_timed(both):
    (grid,) = both.every(GridFindings)
    for unknown in ({}, {"steady_s": pl.Float64}, {"threads": pl.Int64}):
        columns = {name: pl.lit(None, kind) for name, kind in unknown.items()}
        (block, *_) = section(changed(both, points=grid.points.with_columns(**columns))).blocks
        assert_said(block.note.partition("Time of a call: ")[2])


def judged(results, **columns):
    (sweep,) = sweeps(results.every(GridFindings))
    grid = replace(sweep.grid, points=sweep.grid.points.with_columns(**columns))
    return trust_in_sweep(replace(sweep, grid=grid))


def flagged(condition):
    none = pl.lit([], pl.List(pl.String))
    return {"flags": pl.when(condition).then(pl.lit(["unstable"])).otherwise(none)}


LENGTH = pl.col("length_px")


@pytest.mark.parametrize(
    ("columns", "grade"),
    [
        # Outputs that were compared at some sizes leave a grid untested.
        ({"beside_ap_iou50": pl.when(LENGTH > 448).then("beside_ap_iou50")}, "untested"),
        # A doubt names the points that raise it or counts them.
        (flagged(LENGTH == 448), "with care"),
        (flagged(LENGTH > 448), "with care"),
        ({"flags": pl.lit(["check-failed"])}, "no"),
        ({name: pl.lit(None, pl.Float64) for name in ("steady_s", "first_s")}, "no"),
    ],
    ids=["some compared", "one doubt", "many doubts", "check failed", "no time"],
)
def test_what_was_compared_timed_and_doubted_decides_the_trust(both, columns, grade):
    trusted = judged(both, **columns)
    assert trusted.grade == grade
    assert_said(*trusted.reasons, *trusted.notes)


CODE = "bright-outside=9/10"


def test_the_count_of_objects_is_marked_where_it_is_doubted(thin, tmp_path):
    """The smallest image on the CPU is not of what the model is for."""
    (grid,) = thin.every(GridFindings)
    is_it = (pl.col("length_px") == 224) & (pl.col("device") == "cpu")
    points = grid.points.with_columns(
        result_doubted=is_it,
        warnings=pl.when(is_it).then(pl.concat_list(pl.lit(CODE))),
    )
    doubted = changed(thin, points=points)
    assert printed(summary_of(doubted)).count(CODE) == 1
    text = write_markdown(tmp_path, doubted).read_text()
    assert text.count("(doubted)") == text.count(" (doubted) | ") == 1
    write_csv(tmp_path, doubted)
    assert pl.read_csv(tmp_path / "benchmark_points.csv")["result_doubted"].sum() == 1
    assert CODE in write_page(tmp_path, doubted).read_text()
