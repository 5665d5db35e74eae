"""Names of tests and bottlenecks, and rates in the unit that fits."""

from typing import get_args

import pytest

from pyscale.report.machine.words import (
    BOTTLENECKS,
    cannot,
    mode_of,
    rate,
    rate_parts,
    what_was_read,
)
from pyscale_stages.timing import Bottleneck


@pytest.mark.parametrize(
    ("per_s", "unit", "told"),
    [
        (3.35e12, "B", "3350 GB/s"),
        (5.2e8, "B", "520 MB/s"),
        (5.2e12, "flop", "5.20 TFLOP/s"),
        (2.4e9, "flop", "2.40 GFLOP/s"),
        (23.9, "image", "23.9 images/s"),
        (81000.0, "launch", "81000 launches/s"),
    ],
)
def test_a_rate_is_told_in_the_unit_that_fits(per_s, unit, told):
    row = {"rate": per_s, "unit": unit, "rate_low": None, "rate_high": None}
    assert rate(row) == told


def test_an_interval_has_the_unit_of_its_rate():
    row = {"rate": 1.05e9, "unit": "B", "rate_low": 9.8e8, "rate_high": 1.1e9}
    assert rate(row) == "1.05 GB/s [0.980, 1.10]"


def test_a_rate_below_every_unit_keeps_the_smallest():
    assert rate_parts(12.0, "B") == (1e3, "kB/s")


def test_how_a_test_reads_is_the_end_of_its_name():
    assert mode_of("particle_sequential_read_cold") == "cold"
    assert mode_of("movie_read_eer_direct") == "direct"
    assert mode_of("particle_write") is None


def test_what_was_read_has_words():
    assert what_was_read("particle_random_read_cold") == "Particles, at random"
    assert what_was_read("movie_read_tiff_warm") == "Movies, TIFF"
    assert what_was_read("something_new_cold") == "something new"


def test_what_cannot_run_is_never_a_number():
    assert cannot("not applicable: nothing is transferred") == "not applicable"
    assert cannot("fio is not installed here") == "cannot run"


def test_every_bottleneck_that_a_stage_may_name_is_explained():
    assert set(BOTTLENECKS) == set(get_args(Bottleneck))


def test_tags_are_short_and_told_apart():
    tags = [explained.text for explained in BOTTLENECKS.values()]
    assert len(set(tags)) == len(tags)
    assert max(map(len, tags)) <= 20
    assert all(explained.why.endswith(".") for explained in BOTTLENECKS.values())
