"""What the report says of curves whose work grew with N."""

from __future__ import annotations

from io import StringIO

import polars as pl
import pytest
from rich.console import Console

from pyscale.analysis.scaling import configurations
from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.advice import doubts
from pyscale.report.context import ReportContext
from pyscale.report.curves import curves
from pyscale.report.markdown import write_markdown
from pyscale.report.scalingkind import not_compared, speedup_title, work
from pyscale.report.terminal import summary
from pyscale.results import analysed

COUNTS = (1, 2, 4)


@pytest.fixture
def weak(new_run):
    """20 frames and 100 s of compute for each worker, and 10 s more for each worker beside it."""
    builder = new_run()
    for n in COUNTS:
        builder.trial("segment", [{"compute": 100.0, "read": 10.0 * n}] * n, movie_frames=20 * n)
    return trial_table(builder.tasks, builder.spans)


def table_of(works):
    return configurations(
        trials_from_wall_times(
            pl.DataFrame(
                {"stage": "a", "workers": COUNTS, "wall_s": [9.0, 9.0, 9.0], "work": works}
            )
        )
    )


@pytest.fixture
def text(weak, tmp_path):
    return write_markdown(tmp_path, analysed(weak, ReportContext(title="a run"))).read_text()


def test_the_text_says_what_grew_and_what_speedup_and_efficiency_are_of(text):
    assert (
        "Weak scaling: the work grew with N (20 at N = 1, 40 at N = 2 and 80 at N = 4), 20 per "
        "worker. Speedup compares work per second; efficiency is the baseline's wall time over "
        "that at N."
    ) in text


def test_a_speedup_is_put_as_work_per_second(text):
    # 110 s for 20 frames, 140 s for 80.
    assert "N = 4: 140 s (one trial), 3.14 times the baseline's work per second" in text
    assert "times as fast" not in text


def test_lost_time_is_compared_with_the_baseline_for_as_much_work(text):
    # 4 x 140 s against 4 x 110 s.
    assert (
        "N = 4 used 560 worker-seconds, 120 more than the baseline for as much work: read +120."
    ) in text


def test_the_serial_fraction_is_gustafsons(text):
    # (4 - 4 * 110/140) / 3
    assert "Gustafson serial fraction (of the time on N workers): 0.17 at N = 2" in text
    assert "and 0.29 at N = 4." in text
    assert "Karp-Flatt serial fraction:" not in text


def test_that_outputs_cannot_be_compared_stands_among_what_was_not_measured(text):
    open_questions = text.split("## Not measured")[1]
    assert (
        "all stages: agreement of outputs between N. In weak scaling N workers have other frames "
        "than N0; quality, where the truth is known, is measured at the largest N alone."
    ) in open_questions
    assert "agreement of the output with the baseline's" not in open_questions
    assert "no truth" not in open_questions


def test_work_that_is_neither_strong_nor_weak_is_told_apart():
    (mixed,) = curves(table_of([1.0, 1.5625, 1.5625]))
    assert work(mixed) == (
        "Neither the work nor the work per worker was the same at every N (1 at N = 1, 1.56 at "
        "N = 2 and 1.56 at N = 4): speedup compares work per second."
    )
    assert list(not_compared([mixed])) == []


def test_work_that_is_known_in_part_is_said_to_be_taken_for_the_same():
    table = table_of([20.0, None, 80.0])
    (said,) = not_compared(curves(table))
    assert said == (
        "a: the work at N = 2 is unknown; speedups assume strong scaling (the same work at every "
        "N)."
    )
    assert doubts(curves(table)) == [said]
    out = StringIO()
    Console(file=out, width=200).print(summary(table))
    assert said in out.getvalue()


def test_of_strong_scaling_and_of_unknown_work_nothing_is_said():
    for works in ([80.0] * 3, [None] * 3):
        (curve,) = curves(table_of(pl.Series(works, dtype=pl.Float64)))
        assert work(curve) is None


@pytest.mark.parametrize(
    ("works", "title"),
    [([80.0] * 3, "Speedup"), ([1.0, 2.0, 4.0], "Scaled speedup"), ([1, 2, 3], "Scaled speedup")],
)
def test_the_axis_of_a_figure_names_a_scaled_speedup(works, title):
    found = curves(table_of(pl.Series(works, dtype=pl.Float64)))
    assert speedup_title(found) == f"{title} over the baseline"


def test_the_terminal_says_of_what_a_speedup_is(weak):
    out = StringIO()
    Console(file=out, width=100).print(summary(configurations(weak)))
    assert "Weak scaling (the same work per worker at every N): speedup" in out.getvalue()
