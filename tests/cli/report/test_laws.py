"""Fitted laws in words: each number is put as sure as it is."""

import numpy as np
import polars as pl

from atleastone import some
from pyscale.analysis.laws import CurveFits, fit
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.evaluation.results import analysed
from pyscale.report.context import ReportContext
from pyscale.report.sentences import laws
from refusals import assert_said

EIGHT = [1, 2, 4, 8, 16, 32, 64, 128]
FOUR = [1, 2, 4, 8]


def told(counts, *, sigma=0.0, kappa=0.0, noise=0.0):
    """Both sentences of a curve by the universal scalability law."""
    n = np.asarray(counts, dtype=float)
    scatter = np.random.default_rng(0).lognormal(0, noise, len(n)) if noise else 1.0
    wall_s = (1000 / n * (1 + sigma * (n - 1) + kappa * n * (n - 1)) * scatter).tolist()
    fits = {law: fit(law, counts, wall_s) for law in ("amdahl", "usl")}
    return laws(CurveFits(suite=None, stage="a", device=None, **fits))


def test_each_number_is_put_as_sure_as_it_is():
    for counts, law in (
        # All is told from 0.
        (EIGHT * 3, {"sigma": 0.05, "kappa": 0.005, "noise": 0.02}),
        # What noise hides is not distinguishable, and gives none.
        (FOUR * 6, {"sigma": 0.05, "noise": 0.03}),
        # An interval may reach past the measured N, and a law miss beyond the scatter.
        ([*range(1, 9)] * 2, {"sigma": 0.1, "kappa": 0.015, "noise": 0.03}),
        # A wide interval comes before the estimate.
        ([1, 2, 4, 8, 16], {"sigma": 0.05, "kappa": 0.003, "noise": 0.05}),
        # Too few counts give no fit.
        ([1, 2] * 6, {"sigma": 0.05, "noise": 0.01}),
        ([1, 2, 4] * 6, {"sigma": 0.05, "noise": 0.01}),
    ):
        assert_said(*told(counts, **law))
    # A miss of rounding alone is not told in digits.
    assert "misses the mean wall times by at most 0.01 % (N = " in told(EIGHT, sigma=0.05)[0]


def test_the_published_table_is_fitted_or_refused(references):
    trials = trials_from_wall_times(pl.read_csv(references / "pycyto_horizontal_scaling.csv"))
    results = analysed(trials, ReportContext(title="pyCyto"), interleaved=False)
    for found in some(results.fits):
        assert_said(found.stage, *laws(found))
