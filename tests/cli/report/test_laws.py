"""Fitted laws in words: each number is put as sure as it is."""

import numpy as np
import polars as pl
import pytest

from atleastone import some
from pyscale.analysis.fits import RankFits, fit
from pyscale.analysis.laws import Parameter
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.evaluation.results import analysed
from pyscale.report.context import ReportContext
from pyscale.report.laws import of_ranks, sentences
from pyscale.report.markdown import write_markdown

EIGHT = [1, 2, 4, 8, 16, 32, 64, 128]
FOUR = [1, 2, 4, 8]


def told(counts, *, sigma=0.0, kappa=0.0, noise=0.0):
    """Both sentences of a curve by the universal scalability law."""
    n = np.asarray(counts, dtype=float)
    scatter = np.random.default_rng(0).lognormal(0, noise, len(n)) if noise else 1.0
    wall_s = (1000 / n * (1 + sigma * (n - 1) + kappa * n * (n - 1)) * scatter).tolist()
    return list(sentences(fit("amdahl", counts, wall_s), fit("usl", counts, wall_s)))


@pytest.mark.parametrize(
    ("counts", "law", "amdahl", "usl"),
    [
        # N of most throughput is given where kappa is told from 0.
        (
            *(EIGHT * 3, {"sigma": 0.05, "kappa": 0.005, "noise": 0.02}),
            ["Not fitted: Amdahl's law misses the wall times by 52 %"],
            [
                "contention sigma = 0.0505 (95 % interval 0.0456 to 0.0553)",
                "Throughput is highest at N* = 13.7 (95 % interval 13.6 to 13.9).",
            ],
        ),
        # What noise hides is not distinguishable, and gives none.
        (
            *(FOUR * 6, {"sigma": 0.05, "noise": 0.03}, []),
            [
                "coherency kappa is not distinguishable from 0: at most 0.0024",
                "estimate 0, the end of its range",
                "No N*: kappa is not distinguishable from 0",
            ],
        ),
        # An interval may reach past the measured N, and a law miss beyond the scatter.
        (
            *([*range(1, 9)] * 2, {"sigma": 0.1, "kappa": 0.015, "noise": 0.03}),
            ["more than the trials scatter: the law does not quite describe the curve."],
            ["exceeds the largest measured N (8)."],
        ),
        # A wide interval comes before the estimate.
        (
            *([1, 2, 4, 8, 16], {"sigma": 0.05, "kappa": 0.003, "noise": 0.05}, []),
            [
                "contention sigma is above 0 but imprecise: 0.025 to 0.095 (95 %",
                "with one trial at each N, scatter and misfit cannot be separated",
            ],
        ),
        # A miss of rounding alone is not told in digits.
        (
            *(EIGHT, {"sigma": 0.05}),
            ["It misses the mean wall times by less than 0.001 % (N = "],
            [],
        ),
    ],
)
def test_each_number_is_put_as_sure_as_it_is(counts, law, amdahl, usl):
    for sentence, parts in some(zip(told(counts, **law), (amdahl, usl), strict=True)):
        assert all(part in sentence for part in parts)
        assert parts or "highest" not in sentence


def test_an_interval_of_the_whole_range_determines_nothing_and_too_few_counts_give_no_fit():
    amdahl = fit("amdahl", FOUR, [1000, 600, 400, 310])
    whole = {"f": Parameter(value=0.2, low=0.0, high=1.0, at_bound=False)}
    found = amdahl.model_copy(update={"parameters": whole})
    told_of_f = "serial part f is undetermined: anything from 0 to 1 fits (estimate 0.2)."
    assert told_of_f in next(sentences(found))
    assert told([1, 2] * 6, sigma=0.05, noise=0.01) == [
        "No law is fitted: this curve has 2 values of N."
    ]
    _, usl = told([1, 2, 4] * 6, sigma=0.05, noise=0.01)
    assert usl.startswith("Not fitted: the universal scalability law needs at least 4 values of N")


def test_what_holds_for_several_entries_of_ranks_is_said_once():
    few = RankFits("a", fit("amdahl", [1, 2], [9, 5]), fit("usl", [1, 2], [9, 5]))
    enough = few._replace(stage="b", amdahl=fit("amdahl", FOUR * 2, [800, 400, 200, 100] * 2))
    alone = few._replace(usl=fit("usl", [1], [9]))
    names = {"a": "pool 8", "b": "pool 16"}
    (block,) = of_ranks([few, enough, alone], names)
    neither, of_b, usl = block.said
    assert neither == "pool 8: No law is fitted: this curve has 2 values of N."
    assert of_b.startswith("pool 16: Amdahl's law, fitted to 8 trials at N = 1, 2, 4 and 8: ")
    assert usl.startswith("pool 16: Not fitted: the universal scalability law needs")
    assert [said.partition(":")[0] for said in of_ranks([few], names)[0].said] == ["pool 8"]
    assert of_ranks([alone], names) == ()


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


@pytest.mark.parametrize(
    ("walls_s", "said"),
    [
        (
            [100.0, 48.0, 23.0, 11.0, 5.5],
            "Efficiency is above 1 at N = 2, 4, 8 and 16. Neither law allows that: both are linear "
            "at best.",
        ),
        ([100.0, 52.0, 27.0, 14.5, 8.0], None),
    ],
)
def test_a_law_that_ends_at_linear_says_where_the_curve_goes_beyond(tmp_path, walls_s, said):
    table = pl.DataFrame({"stage": "a", "workers": [1, 2, 4, 8, 16], "wall_s": walls_s})
    results = analysed(trials_from_wall_times(table), ReportContext(title="a"), interleaved=False)
    text = write_markdown(tmp_path, results).read_text()
    lines = [line for line in text.splitlines() if "Efficiency is above 1 at N" in line]
    assert [line.endswith(said) for line in lines] == [True] if said else lines == []
