"""Every sentence on a sweep follows from a number, and is as sure as it is."""

from dataclasses import replace

import polars as pl
import pytest

from asread import printed, seen
from madeupgrid import made_up
from pyscale.analysis.grid.findings import GridFindings
from pyscale.report.csv import csv_texts, write_csv
from pyscale.report.grid.section import not_compared, section, trust_in_sweep
from pyscale.report.grid.sweep import sweeps
from pyscale.report.markdown import write_markdown
from pyscale.report.page.write import write_page
from pyscale.report.plots.sizeplots import times
from pyscale.report.terminal import summary_of


def only(results):
    (sweep,) = sweeps(results.every(GridFindings))
    return sweep


def changed(results, **changes):
    """The same of a grid that found something else."""
    (grid,) = results.every(GridFindings)
    return replace(results, kinds=(replace(grid, **changes),))


def told(results):
    """Everything but tables: answers, then sentences."""
    found = section(results)
    answers = [answer.text for one in found.answered for answer in one.answers]
    return " ".join([*answers, *(sentence for block in found.blocks for sentence in block.said)])


def row_of(results, caption, *begins):
    """Cells of a table's row that begins so, by its columns."""
    tables = [table for block in section(results).blocks for table in block.tables]
    (table,) = (one for one in tables if one.caption == caption)
    (row,) = (row for row in table.texts if row[1 : len(begins) + 1] == list(begins))
    return dict(zip(table.header, row, strict=True))


def test_a_ratio_whose_interval_holds_one_is_not_called_faster(both):
    (grid,) = both.every(GridFindings)
    ratios = grid.ratios.with_columns(ratio_low=pl.lit(0.9), ratio_high=pl.lit(1.2))
    said = told(changed(both, ratios=ratios))
    assert "Indistinguishable from the CPU at 2352 px" in said
    assert "times as fast" not in said


@pytest.mark.parametrize(
    ("shape", "words", "never"),
    [
        ("undecided", "do not settle whether the ratio flattens", "logarithm"),
        ("logarithmic", "grows with the logarithm of the size", "approaches"),
    ],
)
def test_other_shapes_are_told_as_what_they_are(both, shape, words, never):
    (grid,) = both.every(GridFindings)
    other = tuple(one.model_copy(update={"shape": shape}) for one in grid.ceilings)
    said = told(changed(both, ceilings=other))
    assert words in said
    assert never not in said


def test_too_few_sizes_have_no_ceiling_and_the_text_says_why(thin):
    said = told(thin)
    assert "No ceiling: a ceiling needs at least 4 sizes" in said
    assert "[" not in said
    assert "not all of these sizes have a 95 % interval" in said
    # Without an interval nothing is said of a single image beyond its times.
    assert row_of(thin, "Every size", "224", "GPU (CUDA)")["First call (s)"] != "-"
    assert "A process for a single image" not in said


def test_where_it_wins_is_a_measured_size(both):
    (grid,) = both.every(GridFindings)
    assert "faster than the CPU at every measured size, 224 px and more" in told(both)
    for changes, words in (
        ({"from_px": 448.0, "not_at_px": 224.0}, "from 448 px on, not at 224 px"),
        ({"from_px": None, "not_at_px": 2352.0}, "faster than the CPU at no measured size"),
    ):
        wins = tuple(one.model_copy(update=changes) for one in grid.wins)
        assert words in told(changed(both, wins=wins))


def test_a_cpu_alone_is_told_by_itself_and_how_to_compare_it(cpu_alone, tmp_path):
    said = told(cpu_alone)
    assert "Only the CPU was measured" in said
    assert "--grid length_px=224,448,672 --device cpu,cuda`" in said
    assert "Mostly: network 93 %" in said
    assert "sped up" not in said
    assert "ratios" not in csv_texts(cpu_alone)
    page = seen(write_page(tmp_path, cpu_alone).read_text())
    assert "Not known : Only the CPU was measured" in page
    assert "CPU, by size" in page


def test_a_gpu_alone_is_to_be_compared_with_the_cpu():
    alone = made_up(("cuda",), (224, 448, 672), repeats=2)
    assert "Only the GPU (CUDA) was measured. To compare with the CPU, use" in told(alone)


def test_devices_that_cannot_be_compared_are_not_said_to_be_one(both):
    sweep = only(both)
    empty = sweep.grid.ratios.clear()
    said = not_compared(replace(sweep, grid=replace(sweep.grid, ratios=empty)))
    assert said.startswith("No ratio of CPU and GPU (CUDA): no size")


def test_nothing_timed_is_one_sentence(both):
    (grid,) = both.every(GridFindings)
    nothing = pl.col("^(steady|first|start|published)_s.*$")
    points = grid.points.with_columns(nothing * None)
    assert told(changed(both, points=points, ratios=grid.ratios.clear())) == "No timed call."


def test_what_the_time_of_a_call_is_follows_from_what_was_timed(both, thin):
    def said(results):
        (block, *_) = section(results).blocks
        return block.note.partition("Time of a call: ")[2]

    assert said(both).startswith("median over calls after the first of their process, then over")
    (grid,) = both.every(GridFindings)
    first = grid.points.with_columns(steady_s=pl.lit(None, pl.Float64))
    assert said(changed(both, points=first)).startswith("median over trials of the first call of")
    table = grid.points.with_columns(threads=pl.lit(None, pl.Int64))
    elsewhere = changed(both, points=table)
    assert said(elsewhere).startswith("median of the times in the table, whose source defines")
    assert not any("after the first" in one for one in times(elsewhere).sentences)


def judged(results, **columns):
    (sweep,) = sweeps(results.every(GridFindings))
    grid = replace(sweep.grid, points=sweep.grid.points.with_columns(**columns))
    trusted = trust_in_sweep(replace(sweep, grid=grid))
    return trusted.grade, "; ".join((*trusted.reasons, *trusted.notes))


def test_outputs_that_were_compared_at_some_sizes_leave_a_grid_untested(both):
    at_others = pl.when(pl.col("length_px") > 448).then("beside_ap_iou50")
    trust, reasons = judged(both, beside_ap_iou50=at_others)
    assert trust == "untested"
    assert "agree by 0.9925 or more at 8 of 10 sizes" in reasons


def test_a_doubt_names_the_points_that_raise_it_or_counts_them(both):
    at = pl.col("length_px")
    some = pl.when(at == 448).then(pl.lit(["unstable"])).otherwise(pl.lit([], pl.List(pl.String)))
    trust, reasons = judged(both, flags=some)
    assert trust == "with care"
    assert "trials scatter (CPU, 448 px and GPU (CUDA), 448 px)" in reasons
    most = pl.when(at > 448).then(pl.lit(["unstable"])).otherwise(pl.lit([], pl.List(pl.String)))
    assert "trials scatter (16 of 20 points)" in judged(both, flags=most)[1]


def test_a_check_that_failed_or_no_time_at_all_is_not_to_be_trusted(both):
    assert judged(both, flags=pl.lit(["check-failed"]))[0] == "no"
    nothing = {f"{name}_s": pl.lit(None, pl.Float64) for name in ("steady", "first")}
    assert judged(both, **nothing) == ("no", "no call was timed")


CODE = "bright-outside=9/10"


@pytest.fixture
def doubted(thin):
    """The smallest image on the CPU is not of what the model is for."""
    (grid,) = thin.every(GridFindings)
    is_it = (pl.col("length_px") == 224) & (pl.col("device") == "cpu")
    points = grid.points.with_columns(
        result_doubted=is_it,
        warnings=pl.when(is_it).then(pl.concat_list(pl.lit(CODE))),
    )
    return replace(thin, kinds=(replace(grid, points=points),))


def test_the_count_of_objects_is_marked_in_the_report(doubted, tmp_path):
    assert printed(summary_of(doubted)).count("CPU !") == 1
    text = write_markdown(tmp_path, doubted).read_text()
    assert len([line for line in text.splitlines() if CODE in line]) == 1
    assert text.count("(doubted)") == text.count(" (doubted) | ") == 1
    write_csv(tmp_path, doubted)
    assert pl.read_csv(tmp_path / "benchmark_points.csv")["result_doubted"].sum() == 1
    assert CODE in write_page(tmp_path, doubted).read_text()
