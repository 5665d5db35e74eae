import pytest

from pyscale.report.wording import (
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


def test_waiting_is_told_to_the_hundredth_of_a_second():
    values = (None, 0.0, 0.000327, 0.717, 1.09, 124.4)
    assert [coarse(value) for value in values] == ["-", "0", "0.00", "0.72", "1.09", "124"]


def test_rounding_noise_of_a_clock_is_not_printed():
    assert seconds(3e-14) == "0"
    assert growth(-3e-14) == "0"
    assert growth(2.5) == "+2.50"
    assert growth(-2.5) == "-2.50"


def test_an_agreement_is_1_only_where_it_is():
    assert [score(value) for value in (1.0, 0.99999, 0.5, None)] == ["1", "0.9999", "0.5000", "-"]


def test_absent_values_are_dashes():
    assert (ratio(None), quality("{}")) == ("-", "-")


def test_lists_read_as_sentences():
    assert listing([]) == ""
    assert listing([1]) == "1"
    assert listing([1, 2, 4]) == "1, 2 and 4"


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
