"""What the terminal shows: every configuration, and the verdict."""

from dataclasses import replace

import polars as pl
import pytest

from asread import printed
from pyscale.analysis.experiments import Experiment
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.context import Work
from pyscale.report.terminal import summary, summary_of


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


HOW = {
    "register_denoise": "ANTs Translation, wavelets",
    "segment": "Cellpose 3.1, pyscale-tiny",
    "contact": "expanded labels",
    "track": "laptrack",
}


@pytest.fixture(params=["full", "thin"])
def results(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("width", [80, 120])
def test_it_fits_the_terminal_and_names_what_ran(results, width):
    works = {stage: Work(data="a movie", how=how) for stage, how in HOW.items()}
    context = results.context.model_copy(update={"works": works})
    text = printed(summary_of(replace(results, context=context)), width=width, crop=False)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert "…" not in text
    assert len(text.splitlines()) <= 20
    for stage, how in HOW.items():
        assert f"\n{stage} " in text
        assert how in " ".join(text.split())


def test_the_line_to_paste_is_never_broken(thin):
    command = "pyscale run pipeline --data " + "x" * 100
    one = Experiment(code="few-repeats", reason="", workers=(1,), repeats=6, command=command)
    text = printed(summary_of(replace(thin, next_runs=(one,))), width=60, crop=False)
    assert f"For more certainty, run: {command}\n" in text
