"""What a line tells that names a number, and what one is told that does not."""

import pytest

from pyscale_stages.measured import Measured, read_measured


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
    ("line", "why"),
    [
        ("", "it is not name=number"),
        ("half", "it is not name=number"),
        ("cells=", "'' is not a number"),
        ("cells=many", "'many' is not a number"),
        ("cells=nan", "finite number"),
        ("Cells=3", "'Cells' is no name of small letters"),
        ("cells=3 beter=higher", "did you mean 'better'?"),
        ("cells=3 better=more", "'higher' or 'lower'"),
        ("cells=3 over=all", "'sum', 'mean', 'most' or 'least'"),
    ],
)
def test_what_names_no_number_is_told_why(line, why):
    with pytest.raises(ValueError, match=why):
        read_measured(line)
