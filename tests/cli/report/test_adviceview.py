"""What the terminal shows of an advice, and how."""

import io
import re

import pytest
from rich.console import Console

from pyscale.analysis.advice import choices
from pyscale.analysis.causes import limits
from pyscale.analysis.experiments import Experiment
from pyscale.analysis.resource_request import request_of
from pyscale.report.advice import NAMES, Advice, StageAdvice, doubts, limits_near
from pyscale.report.adviceview import shown
from pyscale.report.bottomline import bottom_line
from pyscale.report.curves import curves


@pytest.fixture(scope="module")
def advice(full):
    found = choices(full.configurations, full.trials)
    causes = limits(full.trials)
    stages = []
    drawn = curves(full.configurations)
    for curve in drawn:
        own = [one for one in found if curve.owns(one)]
        experiment = Experiment(
            code="larger",
            reason="N = 8 is the largest.",
            workers=(1, 8, 16),
            repeats=6,
            command=f"pyscale run pipeline --data {'d' * 100} --only {curve.name}",
        )
        stages.append(
            StageAdvice(
                name=curve.name,
                choices=tuple(own),
                limits=tuple(limits_near(curve, own, causes)),
                excluded=(),
                experiments=(experiment,),
                request=request_of(own[0], full.trials, cpus=1),
            )
        )
    return Advice(
        title="run a [1]",
        objective="knee",
        measured_for="hela on EPYC",
        stages=tuple(stages),
        doubts=tuple(doubts(drawn)),
        directives="#SBATCH --array=0-3%4",
        line=bottom_line(full),
    )


def printed(advice, width=100):
    out = io.StringIO()
    console = Console(file=out, width=width)
    for part in shown(advice, why=True):
        if isinstance(part, str):
            out.write(part + "\n")
        else:
            console.print(part)
    return out.getvalue()


def test_a_narrow_terminal_keeps_every_n_and_how_sure_it_is(advice):
    text = printed(advice, width=80)
    assert "95 % intervals need a wider terminal" in text
    assert "…" not in text
    for stage in advice.stages:
        for one in stage.choices:
            row = (
                rf"{NAMES[one.objective]} +{one.workers} .* {one.sureness} \({one.share_chosen:.0%}"
            )
            assert re.search(row.replace("%", " %"), text)


def test_lines_to_paste_are_not_broken(advice):
    lines = printed(advice, width=60).splitlines()
    for stage in advice.stages:
        assert f"  $ {stage.experiments[0].command}" in lines
    assert lines[0] == "#SBATCH --array=0-3%4"
