"""What a line tells that names a number, and what one is told that does not."""

import pytest
from pydantic import ValidationError

from pyscale_stages.measured import Measured, Warned, read_measured
from refusals import refused


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("cells=1234", Measured(name="cells", value=1234)),
        ("loss=-1.5e-3 better=lower", Measured(name="loss", value=-0.0015, better="lower")),
        (
            "area=12.5 unit=px over=mean better=higher",
            Measured(name="area", value=12.5, unit="px", over="mean", better="higher"),
        ),
    ],
)
def test_a_number_is_read_with_what_is_said_of_it(line, told):
    assert read_measured(line) == told


@pytest.mark.parametrize(
    "line",
    [
        *("", "half", "cells=", "cells=many", "cells=nan", "Cells=3"),
        *("cells=3 beter=higher", "cells=3 better=more", "cells=3 over=all"),
    ],
)
def test_what_names_no_number_is_told_why(line):
    with refused(ValueError):
        read_measured(line)


LEFT = "were not moved"


def left(concerned, seen, **more):
    return Warned(code="unregistered-frames", text=LEFT, concerned=concerned, seen=seen, **more)


def test_counts_of_windows_add_up_and_no_more_than_there_is_can_be_concerned():
    both = left(30, 40) + left(7, 8)
    assert both.sentence == f"37 of 48 frames {LEFT}"
    with pytest.raises(ValidationError, match="concerns 3 of 2 frames"):
        left(3, 2)


@pytest.mark.parametrize(
    ("warning", "is_said"),
    [
        (left(1, 10), True),
        (left(0, 10), False),
        (left(5, 10, above=0.5), False),
        (left(6, 10, above=0.5), True),
        (left(0, 0), False),
        (left(1, 9, above=0.05, fewest=10), False),
        (left(10, 20, above=0.05, fewest=10), True),
        (Warned(text="the disk is slow"), True),
    ],
)
def test_a_warning_is_said_where_it_concerns_enough(warning, is_said):
    assert warning.is_said == is_said
