"""The verdict in the terminal."""

from dataclasses import replace

import pytest

from asread import printed
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


def shown(results, width=100):
    return printed(summary_of(results), width=width, crop=False)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("which", ["full", "thin"])
def test_it_fits_the_terminal_and_names_what_ran(which, width, full, thin):
    text = shown(named({"full": full, "thin": thin}[which]), width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert "…" not in text
    assert len(text.splitlines()) <= 18
    for stage, how in HOW.items():
        assert f"\n{stage} " in text
        assert how in " ".join(text.split())


def test_the_line_to_paste_is_never_broken(thin):
    command = "pyscale run pipeline --data " + "x" * 100
    one = Experiment(code="few-repeats", reason="", workers=(1,), repeats=6, command=command)
    assert f"Surer by: {command}\n" in shown(replace(thin, next_runs=(one,)), 60)
