"""Names of tests and bottlenecks, and rates in the unit that fits."""

from typing import get_args

import pytest

from pyscale.report.machine.testlabels import (
    BOTTLENECKS,
    cannot,
    mode_of,
    rate,
    rate_parts,
    what_was_read,
)
from pyscale_stages.timing import Bottleneck


@pytest.mark.parametrize(
    ("rates", "unit", "told"),
    [
        ((3.35e12,), "B", "3350 GB/s"),
        ((5.2e8,), "B", "520 MB/s"),
        ((5.2e12,), "flop", "5.20 TFLOP/s"),
        ((2.4e9,), "flop", "2.40 GFLOP/s"),
        ((23.9,), "image", "23.9 images/s"),
        ((81000.0,), "launch", "81000 launches/s"),
        # An interval has the unit of its rate.
        ((1.05e9, 9.8e8, 1.1e9), "B", "1.05 GB/s [0.980, 1.10]"),
    ],
)
def test_a_rate_is_told_in_the_unit_that_fits(rates, unit, told):
    per_s, low, high = (*rates, None, None)[:3]
    assert rate({"rate": per_s, "unit": unit, "rate_low": low, "rate_high": high}) == told


def test_a_rate_below_every_unit_keeps_the_smallest():
    assert rate_parts(12.0, "B") == (1e3, "kB/s")


@pytest.mark.parametrize(
    ("write", "texts"),
    [
        # How a test reads is the end of its name.
        (
            mode_of,
            {
                "particle_sequential_read_cold": "cold",
                "movie_read_eer_direct": "direct",
                "particle_write": None,
            },
        ),
        (
            what_was_read,
            {
                "particle_random_read_cold": "Particles, at random",
                "movie_read_tiff_warm": "Movies, TIFF",
                "something_new_cold": "something new",
            },
        ),
        # What cannot run is never a number.
        (
            cannot,
            {
                "not applicable: nothing is transferred": "not applicable",
                "imagecodecs is not installed here": "cannot run",
            },
        ),
    ],
    ids=["mode", "read", "cannot"],
)
def test_what_was_done_has_words(write, texts):
    assert {name: write(name) for name in texts} == texts


def test_every_bottleneck_that_a_stage_may_name_is_explained_by_a_short_tag():
    assert set(BOTTLENECKS) == set(get_args(Bottleneck))
    tags = [explained.text for explained in BOTTLENECKS.values()]
    assert len(set(tags)) == len(tags)
    assert max(map(len, tags)) <= 20
    assert all(explained.why.endswith(".") for explained in BOTTLENECKS.values())
