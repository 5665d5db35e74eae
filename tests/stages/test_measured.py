"""What a line tells that names a number, and what one is told that does not."""

import pytest

from pyscale_stages.measured import Measured, read_measured
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
