import pytest

from pyscale.wording import (
    ABSENT,
    coarse,
    efficiency,
    growth,
    listing,
    number,
    quality,
    ratio,
    score,
    score_below,
    seconds,
    serial_fractions,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (9703.4, "9703"),
        (102.4, "102"),
        (99.96, "100"),
        (9.996, "10.0"),
        (1.0, "1.00"),
        (0.00999999, "0.0100"),
        (0.084, "0.0840"),
        (-3.14159, "-3.14"),
        (1e-7, "1.00e-07"),
    ],
)
def test_numbers_have_three_digits_and_keep_those_before_the_point(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("write", "texts"),
    [
        (
            coarse,
            {None: "-", 0.0: "0", 0.000327: "0.00", 0.717: "0.72", 1.09: "1.09", 124.4: "124"},
        ),
        # Rounding noise of a clock is not printed.
        (seconds, {3e-14: "0"}),
        (growth, {-3e-14: "0", 2.5: "+2.50", -2.5: "-2.50"}),
        # An agreement is 1 only where it is.
        (score, {1.0: "1", 0.99999: "0.9999", 0.5: "0.5000", None: "-"}),
        (ratio, {None: "-"}),
        (quality, {"{}": "-"}),
        (listing, {(): "", (1,): "1", (1, 2, 4): "1, 2 and 4"}),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_values_are_written_as_their_kind_is(write, texts):
    assert {value: write(value) for value in texts} == texts


@pytest.mark.parametrize(
    ("value", "tolerance", "text"),
    [
        (0.4, 0.999, "0.4000"),
        (0.0, 0.999, "0.0000"),
        (0.99896, 0.999, "0.99896"),
        (0.999999, 1.0, "0.999999"),
        (1 - 2**-53, 1.0, "0.9999999999999999"),
    ],
)
def test_a_score_below_the_tolerance_is_seen_to_be(value, tolerance, text):
    assert score_below(value, tolerance) == text


def test_efficiency_and_serial_fractions_stand_with_their_intervals():
    row = {"invalid": False, "workers": 4, "efficiency": 0.9, "karp_flatt": 0.037}
    known = row | {"efficiency_low": 0.85, "efficiency_high": 0.95}
    known |= {"karp_flatt_low": 0.018, "karp_flatt_high": 0.059}
    unknown = dict.fromkeys(known, None) | row
    assert efficiency(known) == "0.90 [0.85, 0.95]"
    assert efficiency(unknown) == "0.90"
    assert efficiency(known | {"invalid": True}) == ABSENT
    said = serial_fractions([known, unknown], "karp_flatt")
    assert said == "0.04 [0.02, 0.06] at N = 4 and 0.04 at N = 4"
