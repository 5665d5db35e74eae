"""Fitted laws in words: each number is put as sure as it is."""

import numpy as np
import polars as pl

from pyscale.analysis.fits import CurveFits, fit
from pyscale.analysis.laws import Parameter
from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.context import ReportContext
from pyscale.report.laws import sentences
from pyscale.report.markdown import write_markdown
from pyscale.results import analysed

EIGHT = [1, 2, 4, 8, 16, 32, 64, 128]
FOUR = [1, 2, 4, 8]


def told(counts, *, sigma=0.0, kappa=0.0, noise=0.0):
    """Both sentences of a curve by the universal scalability law."""
    n = np.asarray(counts, dtype=float)
    scatter = np.random.default_rng(0).lognormal(0, noise, len(n)) if noise else 1.0
    wall_s = (1000 / n * (1 + sigma * (n - 1) + kappa * n * (n - 1)) * scatter).tolist()
    amdahl, usl = fit("amdahl", counts, wall_s), fit("usl", counts, wall_s)
    return list(sentences(CurveFits(suite=None, stage="a", device=None, amdahl=amdahl, usl=usl)))


def test_a_sure_number_is_given_with_its_interval_and_residuals():
    amdahl, _ = told(EIGHT * 3, sigma=0.05, noise=0.02)
    assert amdahl == (
        "Amdahl's law, fitted to 24 trials at N = 1, 2, 4, 8, 16, 32, 64 and 128: serial part "
        "f = 0.0504 (95 % interval 0.0491 to 0.0516). It misses the mean wall times by at most "
        "1.7 % (N = 16), within the scatter of the trials."
    )


def test_n_of_most_throughput_is_given_where_kappa_is_told_from_0():
    amdahl, usl = told(EIGHT * 3, sigma=0.05, kappa=0.005, noise=0.02)
    assert amdahl.startswith("Not fitted: Amdahl's law misses the wall times by 52 %")
    assert "contention sigma = 0.0505 (95 % interval 0.0456 to 0.0553)" in usl
    assert "Throughput is highest at N* = 13.7 (95 % interval 13.6 to 13.9)." in usl


def test_what_noise_hides_is_not_distinguishable_and_gives_no_n_of_most_throughput():
    _, usl = told(FOUR * 6, sigma=0.05, noise=0.03)
    assert "coherency kappa is not distinguishable from 0: at most 0.0024" in usl
    assert "estimate 0, the end of its range" in usl
    assert "No N*: kappa is not distinguishable from 0" in usl
    assert "highest" not in usl


def test_an_interval_that_reaches_past_the_measured_n_says_so():
    _, usl = told([*range(1, 9)] * 2, sigma=0.1, kappa=0.015, noise=0.03)
    assert usl.endswith("exceeds the largest measured N (8).")


def test_a_law_that_misses_beyond_the_scatter_is_told_so():
    amdahl, _ = told([*range(1, 9)] * 2, sigma=0.1, kappa=0.015, noise=0.03)
    assert "more than the trials scatter: the law does not quite describe the curve." in amdahl


def test_a_wide_interval_comes_before_the_estimate():
    _, usl = told([1, 2, 4, 8, 16], sigma=0.05, kappa=0.003, noise=0.05)
    assert "contention sigma is above 0 but imprecise: 0.025 to 0.095 (95 %" in usl
    assert "with one trial at each N, scatter and misfit cannot be separated" in usl


def test_an_interval_of_the_whole_range_determines_nothing():
    amdahl = fit("amdahl", FOUR, [1000, 600, 400, 310])
    whole = {"f": Parameter(value=0.2, low=0.0, high=1.0, at_bound=False)}
    found = CurveFits(
        suite=None,
        stage="a",
        device=None,
        amdahl=amdahl.model_copy(update={"parameters": whole}),
        usl=amdahl,
    )
    told_of_f = "serial part f is undetermined: anything from 0 to 1 fits (estimate 0.2)."
    assert told_of_f in next(sentences(found))


def test_too_few_counts_are_the_reason_for_no_fit():
    assert told([1, 2] * 6, sigma=0.05, noise=0.01) == [
        "Not fitted: Amdahl's law needs at least 3 values of N; 2 were measured.",
        "Not fitted: the universal scalability law needs at least 4 values of N; 2 were measured.",
    ]


PYCYTO = {
    "register_denoise": "serial part f is above 0 but imprecise: 0.013 to 0.059 "
    "(95 % interval; estimate 0.0357)",
    "cellpose_ch0": "serial part f = 0.226 (",
    "cellpose_ch1": "serial part f = 0.265 (",
    "contact": "estimate 0.391)",
    "trackmate_ch0": "Not fitted: Amdahl's law misses the wall times by 14 %",
}


def test_the_published_table_is_fitted_or_refused(references, tmp_path):
    trials = trials_from_wall_times(pl.read_csv(references / "pycyto_horizontal_scaling.csv"))
    write_markdown(tmp_path, analysed(trials, ReportContext(title="pyCyto"), interleaved=False))
    text = (tmp_path / "scaling_analysis.md").read_text()
    assert "Amdahl's law is T(N)" in text
    for stage, said in PYCYTO.items():
        section = text.split(f"\n## {stage}\n")[1].split("\n## ")[0]
        assert said in section
        assert "Not fitted: the universal scalability law leaves 1 degree of freedom" in section


def test_drift_is_told_with_its_numbers_among_the_doubts(tmp_path, new_run):
    builder = new_run()
    for block in range(8):
        for workers in (1, 2) if block % 2 else (2, 1):
            wall_s = 100 / workers * (1 + 0.03 * block)
            builder.trial("segment", [{"compute": wall_s}] * workers, block=block)
    trials = trial_table(builder.tasks, builder.spans)
    write_markdown(tmp_path, analysed(trials, ReportContext(title="a run")))
    doubts = (tmp_path / "scaling_analysis.md").read_text().split("## Doubts")[1].split("##")[0]
    assert "- `drift` (segment at N = 1 and 2): Wall times rose or fell by 5 % or more" in doubts
    assert "- segment: Wall times rose by 2" in doubts
    assert "16 trials in 8 blocks)." in doubts


def superlinear_lines(tmp_path, walls_s):
    counts = [1, 2, 4, 8, 16][: len(walls_s)]
    table = pl.DataFrame({"stage": "a", "workers": counts, "wall_s": walls_s})
    trials = trials_from_wall_times(table)
    write_markdown(tmp_path, analysed(trials, ReportContext(title="a table"), interleaved=False))
    text = (tmp_path / "scaling_analysis.md").read_text()
    return [line for line in text.splitlines() if "Efficiency is above 1 at N" in line]


def test_a_law_that_ends_at_linear_says_where_the_curve_goes_beyond(tmp_path):
    (line,) = superlinear_lines(tmp_path, [100.0, 48.0, 23.0, 11.0, 5.5])
    assert line.endswith(
        "Efficiency is above 1 at N = 2, 4, 8 and 16. Neither law allows that: both are linear at "
        "best."
    )


def test_a_curve_below_linear_says_nothing_of_that(tmp_path):
    assert superlinear_lines(tmp_path, [100.0, 52.0, 27.0, 14.5, 8.0]) == []


def test_a_miss_of_rounding_alone_is_not_told_in_digits():
    amdahl, _ = told(EIGHT, sigma=0.05)
    assert "It misses the mean wall times by less than 0.001 % (N = " in amdahl
