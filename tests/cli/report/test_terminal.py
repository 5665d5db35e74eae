from __future__ import annotations

import io

import polars as pl
import pytest
from rich.console import Console

from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.terminal import summary


def printed(table, width=100):
    out = io.StringIO()
    Console(file=out, width=width).print(summary(table))
    return out.getvalue()


@pytest.mark.parametrize("which", ["full", "thin"])
def test_a_pipe_of_100_columns_shows_every_number(which, full, thin):
    table = {"full": full, "thin": thin}[which].configurations
    text = printed(table)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 100
    assert "…" not in text
    for stage in ("register_denoise", "segment", "contact", "track"):
        assert f"\n{stage} " in text
    for row in table.iter_rows(named=True):
        assert f"{row['speedup']:.2f}" in text
        assert f"{row['load_balance']:.2f}" in text


def test_a_run_without_records_has_a_sentence_and_no_table(full):
    assert (
        printed(full.configurations.clear()) == "No trial has a record, so there are no results.\n"
    )


def test_intervals_stand_beside_their_numbers_or_not_at_all(full, thin):
    row = full.configurations.row(3, named=True)
    assert f"{row['speedup']:.2f} [{row['speedup_low']:.2f}, {row['speedup_high']:.2f}]" in printed(
        full.configurations
    )
    assert "[" not in printed(thin.configurations)


def test_of_fewer_than_six_trials_the_range_is_shown_and_labelled(thin):
    text = printed(thin.configurations)
    row = thin.configurations.row(0, named=True)
    assert f"{row['wall_s']:.0f} ({row['wall_s_min']:.0f}-{row['wall_s_max']:.0f})" in text
    assert "Wall times in (): range, min-max of the trials." in text


def test_flags_are_letters_that_the_lines_below_explain(thin, full):
    text = " ".join(printed(thin.configurations).split())
    assert f"n few-repeats: {SENTENCES['few-repeats']}" in text
    assert f"w warm-not-cold: {SENTENCES['warm-not-cold']}" in text
    assert " nwo " in text
    assert "few-repeats" not in printed(full.configurations)


def test_equal_bytes_are_marked_beside_the_agreement(full):
    text = printed(full.configurations)
    contact, track = (
        next(line for line in text.splitlines() if line.startswith(f"{stage} "))
        for stage in ("contact", "track")
    )
    assert contact.split()[-3:-1] == ["1", "="]
    assert "=" not in track
    assert "= : In all trials the output bytes equal the baseline's." in " ".join(
        text.replace("=:", "= :").split()
    )


def test_every_measure_of_quality_is_printed(full):
    text = printed(full.configurations)
    for measure in ("link_precision 0.984", "split_recall 0.750", "0.961"):
        assert measure in " ".join(text.split())


def test_what_was_not_measured_is_a_dash_and_names_are_taken_as_they_are():
    table = pl.DataFrame({"stage": "[red]a|b", "workers": [1, 2], "wall_s": [9.0, 5.0]})
    text = printed(configurations(trials_from_wall_times(table)))
    assert "[red]a|b" in text
    last = next(line for line in text.splitlines() if line.split()[:2] == ["2", "5.00"])
    assert last.split() == ["2", "5.00", "1.80", "0.90", "-", "-", "-", "-", "n"]


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("which", ["full", "thin"])
def test_a_narrow_terminal_keeps_names_and_whole_numbers(which, width, full, thin):
    table = {"full": full, "thin": thin}[which].configurations
    text = printed(table, width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert "…" not in text
    for stage in ("register", "segment", "contact", "track"):
        assert f"\n{stage}" in text
    for row in table.iter_rows(named=True):
        assert f"{row['speedup']:.2f}" in text
    says_so = "Efficiency and its factors need a wider terminal" in text
    assert says_so == ("effi-" not in text)


def test_an_invalid_configuration_has_a_wall_time_and_no_speedup(broken):
    text = printed(broken.configurations)
    (row,) = broken.configurations.filter("invalid").to_dicts()
    line = next(line for line in text.splitlines() if "invalid" in line)
    assert line.split()[:3] == ["4", f"{row['wall_s']:.1f}", f"[{row['wall_s_low']:.1f},"]
    # N, the wall time with its interval, then: speedup, efficiency and its factors.
    assert line.split()[4:9] == ["invalid", "-", "1.00", "-", f"{row['useful_share']:.2f}"]
    assert f"{row['speedup']:.2f}" not in line
    assert f" disagrees: {SENTENCES['disagrees']}" in " ".join(text.split())
