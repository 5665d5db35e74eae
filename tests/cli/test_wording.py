from pyscale.wording import (
    coarse,
    growth,
    interval,
    listing,
    number,
    quality,
    ratio,
    score,
    score_below,
    seconds,
)
from refusals import assert_said


def test_numbers_have_three_digits_and_keep_those_before_the_point():
    values = (None, 0.0, 9703.4, 102.4, 99.96, 9.996, 1.0, 0.00999999, 0.084, -3.14159, 1e-7)
    assert_said(*map(number, values))


def test_values_are_written_as_their_kind_is():
    assert_said(
        *map(coarse, (None, 0.0, 0.000327, 0.717, 1.09, 124.4)),
        # Rounding noise of a clock is not printed.
        seconds(3e-14),
        *map(growth, (-3e-14, 2.5, -2.5)),
        # An agreement is 1 only where it is.
        *map(score, (1.0, 0.99999, 0.5, None)),
        ratio(None),
        quality("{}"),
        *map(listing, ((1,), (1, 2, 4))),
    )


def test_a_score_below_the_tolerance_is_seen_to_be():
    below = [(0.4, 0.999), (0.0, 0.999), (0.99896, 0.999), (0.999999, 1.0), (1 - 2**-53, 1.0)]
    assert_said(*(score_below(value, tolerance) for value, tolerance in below))


def test_a_number_stands_with_its_interval():
    row = {"speedup": 0.9, "speedup_low": None, "speedup_high": None}
    known = row | {"speedup_low": 0.85, "speedup_high": 0.95}
    assert_said(*(interval(one, "speedup", ratio) for one in (known, row)))
