import polars as pl
import pytest

from asread import printed
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.terminal import summary


def shown(table, width=100):
    return printed(summary(table), width=width)


def test_a_run_without_records_has_a_sentence_and_no_table(full):
    assert shown(full.configurations.clear()) == "No trial has a record, so there are no results.\n"


def test_what_was_not_measured_is_a_dash_and_names_are_taken_as_they_are():
    table = pl.DataFrame({"stage": "[red]a|b", "workers": [1, 2], "wall_s": [9.0, 5.0]})
    text = shown(configurations(trials_from_wall_times(table)))
    assert "[red]a|b" in text
    last = next(line for line in text.splitlines() if line.split()[:2] == ["2", "5.00"])
    assert last.split() == ["2", "5.00", "1.80", "0.90", "-", "-", "-", "-", "n"]


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("which", ["full", "thin"])
def test_a_narrow_terminal_keeps_names_and_whole_numbers(which, width, full, thin):
    table = {"full": full, "thin": thin}[which].configurations
    text = shown(table, width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert "…" not in text
    for stage in ("register", "segment", "contact", "track"):
        assert f"\n{stage}" in text
    for row in table.iter_rows(named=True):
        assert f"{row['speedup']:.2f}" in text
    says_so = "Efficiency and its factors need a wider terminal" in text
    assert says_so == ("effi-" not in text)
