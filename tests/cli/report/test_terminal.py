"""What the terminal shows: every configuration, and the verdict."""

from dataclasses import replace

import pytest

from asread import printed
from pyscale.analysis.advice import Experiment
from pyscale.report.context import Work
from pyscale.report.terminal import summary_of


def test_a_run_without_records_has_a_sentence_and_no_table(new_run):
    assert printed(summary_of(new_run().results())) == (
        "No trial has a record, so there are no results.\n"
    )


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


@pytest.mark.parametrize("width", [80, 120])
def test_asked_for_more_it_tells_phase_by_phase_where_the_time_went(results, width):
    text = printed(summary_of(results, verbose=True), width=width, crop=False)
    assert "…" not in text
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = lines[lines.index("Where the time went") :]
    assert told[1] == "Shares of the worker-seconds"
    assert any(line.startswith("register_denoise 1") and "compute" in line for line in told)


def test_the_line_to_paste_is_never_broken(thin):
    command = "pyscale run pipeline --data " + "x" * 100
    one = Experiment(code="few-repeats", reason="", workers=(1,), repeats=6, command=command)
    text = printed(summary_of(replace(thin, next_runs=(one,))), width=60, crop=False)
    assert f"For more certainty, run: {command}\n" in text
