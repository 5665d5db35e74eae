"""Warm workers beside new processes: their start once, and what each window saves."""

import polars as pl
import pytest

from pyscale.analysis.doubts import flag_codes
from pyscale.analysis.starts import starts
from pyscale.analysis.trials import trial_table

COLD = {"family": "segment", "point": '{"start": "cold"}', "origin": "start"}
WARM = COLD | {"point": '{"start": "warm"}', "start": "warm", "origin": "fork"}


def rows(builder):
    tasks, spans = builder.tasks, builder.spans
    return starts(tasks, trial_table(tasks, spans)).to_dicts()


def both(new_run, warm_s=2.0, **warm):
    """One trial of each start: windows of 10 s, and a warm worker that takes 20 s to start."""
    own = WARM | {"worker": "segment_warm-s0-1", "worker_start_s": 20.0} | warm
    return (
        new_run()
        .trial("segment_cold", [{"compute": 10.0}], **COLD)
        .trial("segment_warm", [{"compute": warm_s}], **own)
    )


def test_the_start_counts_once_however_many_movies_are_worked_off(new_run):
    (row,) = rows(both(new_run))
    assert [row[name] for name in ("family", "stage", "warm_stage")] == [
        *("segment", "segment_cold", "segment_warm")
    ]
    assert (row["movie_cold_s"], row["movie_warm_s"]) == (10.0, 22.0)
    assert (row["movies_cold_s"], row["movies_warm_s"]) == (1000.0, 220.0)
    # A start that is unknown leaves no answer.
    (row,) = rows(both(new_run, worker_start_s=None))
    names = ("worker_start_s", "windows_to_repay", "movie_warm_s", "movies_warm_s")
    assert [row[name] for name in names] == [None] * 4


@pytest.mark.parametrize(("warm_s", "windows"), [(2.0, 3), (9.0, 20), (10.0, None), (11.0, None)])
def test_windows_repay_the_start_by_what_each_saves(new_run, warm_s, windows):
    (row,) = rows(both(new_run, warm_s))
    assert row["windows_to_repay"] == windows


def test_a_worker_counts_once_whatever_it_has_done(new_run):
    first = WARM | {"worker": "a", "worker_start_s": 10.0}
    builder = new_run().trial("segment_cold", [{"compute": 10.0}], **COLD)
    for _ in range(3):
        builder.trial("segment_warm", [{"compute": 2.0}], **first)
    builder.trial(
        "segment_warm", [{"compute": 2.0}], **first | {"worker": "b", "worker_start_s": 40.0}
    )
    (row,) = rows(builder)
    assert row["worker_start_s"] == 25.0


def test_points_that_differ_elsewhere_and_one_start_alone_are_not_compared(new_run):
    assert rows(both(new_run, point='{"length_px": 224, "start": "warm"}')) == []
    assert rows(new_run().trial("segment", [{"compute": 1.0}])) == []


@pytest.mark.parametrize(
    ("agreement", "identical", "codes"),
    [(1.0, True, []), (0.9995, False, []), (None, None, []), (0.5, False, ["disagrees"])],
)
def test_the_same_bytes_are_told_and_an_output_that_differs_from_a_new_process_is_invalid(
    new_run, agreement, identical, codes
):
    builder = both(new_run, beside=agreement)
    (row,) = rows(builder)
    assert row["identical"] is identical
    warm = builder.trials.filter(pl.col("stage") == "segment_warm")
    assert [code for code in flag_codes(warm, warm) if code == "disagrees"] == codes
