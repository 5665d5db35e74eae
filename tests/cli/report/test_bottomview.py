"""The verdict in the terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from pyscale.analysis.experiments import Experiment
from pyscale.report.context import Work
from pyscale.report.terminal import summary_of

HOW = {
    "register_denoise": "ANTs Translation, wavelets",
    "segment": "Cellpose 3.1, pyscale-tiny",
    "contact": "expanded labels",
    "track": "laptrack",
}


def named(results):
    works = {stage: Work(data="a movie", how=how) for stage, how in HOW.items()}
    return replace(results, context=results.context.model_copy(update={"works": works}))


def printed(results, width=100, **options):
    out = io.StringIO()
    Console(file=out, width=width).print(summary_of(results, **options), crop=False)
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("which", ["full", "thin"])
def test_it_fits_the_terminal_and_names_what_ran(which, width, full, thin):
    text = printed(named({"full": full, "thin": thin}[which]), width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert "…" not in text
    assert len(text.splitlines()) <= 18
    for stage, how in HOW.items():
        assert f"\n{stage} " in text
        assert how in " ".join(text.split())


def test_it_ends_with_the_answer_and_not_with_factors(full):
    text = " ".join(printed(full).split())
    assert "all stages" in text
    assert "Request N = " in text
    assert "(best value)" in text
    assert "Outputs: agree within tolerance at every N" in text
    assert "balance" not in text
    assert "load balance" in " ".join(printed(full, verbose=True).split()) or "effi-" in printed(
        full, verbose=True
    )


def test_a_bar_is_as_full_as_the_speedup_is_near_the_ideal(full):
    line = next(line for line in printed(full).splitlines() if line.startswith("register_denoise"))
    cells = line.count("█") + line.count("░")
    assert cells == 8
    assert line.count("█") >= 5


def test_the_line_to_paste_is_never_broken(thin):
    command = "pyscale run pipeline --data " + "x" * 100
    one = Experiment(code="few-repeats", reason="", workers=(1,), repeats=6, command=command)
    assert f"Surer by: {command}\n" in printed(replace(thin, next_runs=(one,)), 60)


def test_an_invalid_configuration_shows_no_time(broken):
    line = next(line for line in printed(broken).splitlines() if line.startswith("track"))
    assert "invalid" in line
    assert "Outputs differ from the baseline's: track at N = 4." in printed(broken)


def test_a_run_without_records_has_a_sentence_and_no_table(full):
    empty = replace(full, configurations=full.configurations.clear())
    assert "No trial has a record, so there are no results." in printed(empty)
