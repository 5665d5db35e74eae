from dataclasses import replace

import polars as pl

from pyscale.analysis.grid.findings import GridFindings
from pyscale.report.grid.section import trust_in_sweep
from pyscale.report.grid.sweep import sweeps


def judged(results, **columns):
    (sweep,) = sweeps(results.every(GridFindings))
    grid = replace(sweep.grid, points=sweep.grid.points.with_columns(**columns))
    trusted = trust_in_sweep(replace(sweep, grid=grid))
    return trusted.grade, "; ".join((*trusted.reasons, *trusted.notes))


def test_points_without_a_doubt_can_be_trusted(both):
    trust, reasons = judged(both)
    assert trust == "yes"
    assert "outputs of GPU (CUDA) agree by 0.9925 or more" in reasons
    assert reasons.startswith("6 trials of each; ")


def test_few_trials_and_outputs_that_were_not_compared_are_neutral_notes(thin):
    trust, reasons = judged(thin)
    assert trust == "yes"
    assert "fewer than 6 trials" in reasons
    assert "outputs of GPU (CUDA) not compared" in reasons


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
