"""Names of tests and bottlenecks, and rates in the unit that fits."""

from typing import get_args

from pyscale.report.machine.bench import (
    BOTTLENECKS,
    cannot,
    mode_of,
    rate,
    rate_parts,
    what_was_read,
)
from pyscale_stages.timing import Bottleneck
from refusals import assert_said


def test_a_rate_is_told_in_the_unit_that_fits():
    for per_s, unit in (
        *((3.35e12, "B"), (5.2e8, "B"), (5.2e12, "flop"), (2.4e9, "flop")),
        *((23.9, "image"), (81000.0, "launch")),
    ):
        assert_said(rate({"rate": per_s, "unit": unit, "rate_low": None, "rate_high": None}))
    # An interval has the unit of its rate.
    assert_said(rate({"rate": 1.05e9, "unit": "B", "rate_low": 9.8e8, "rate_high": 1.1e9}))


def test_a_rate_below_every_unit_keeps_the_smallest():
    assert rate_parts(12.0, "B") == (1e3, "kB/s")


def test_what_was_done_has_words():
    # How a test reads is the end of its name.
    names = ("particle_sequential_read_cold", "movie_read_eer_direct", "particle_write")
    assert [mode_of(name) for name in names] == ["cold", "direct", None]
    read = ("particle_random_read_cold", "movie_read_tiff_warm", "something_new_cold")
    # What cannot run is never a number.
    why = ("not applicable: nothing is transferred", "imagecodecs is not installed here")
    assert_said(*map(what_was_read, read), *map(cannot, why))


def test_every_bottleneck_that_a_stage_may_name_is_explained_by_a_short_tag():
    assert set(BOTTLENECKS) == set(get_args(Bottleneck))
    tags = [explained.text for explained in BOTTLENECKS.values()]
    assert len(set(tags)) == len(tags)
    assert max(map(len, tags)) <= 20
    assert all(explained.why.endswith(".") for explained in BOTTLENECKS.values())
