"""Results with a timeline, and with what others measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pyscale.analysis.timeline import timeline_of
from pyscale.analysis.trials import trial_table
from pyscale.analysis.workertable import worker_table
from pyscale.report.context import ReportContext
from pyscale.report.results import Results
from pyscale.results import analysed


@pytest.fixture(scope="session")
def results_of() -> Callable[[Any], Results]:
    """Analyse what a builder holds, the timeline too."""

    def analyse(run: Any) -> Results:
        trials = trial_table(run.tasks, run.spans)
        found = analysed(
            trials, ReportContext(title="a run"), workers=worker_table(run.tasks, run.spans)
        )
        return replace(found, timeline=timeline_of(run.tasks, run.spans, trials))

    return analyse


@pytest.fixture(scope="session")
def uneven(new_run, results_of) -> Results:
    """Segment and track at N = 1 and 2, six repeats; at N = 2 one worker of segment is slow."""
    run = new_run()
    for block in range(6):
        late_s = 3.0 + 0.1 * block
        run.trial("segment", [{"read": 1.0, "compute": 10.0}], block=block, agreement=1.0)
        run.trial(
            "segment",
            [{"read": 0.5, "compute": 5.0}, {"read": 0.5, "compute": 5.0 + late_s}],
            block=block,
            merge={"merge": 0.25},
            nodes=("node2", "node1"),
            agreement=1.0,
        )
        run.trial("track", [{"compute": 4.0 + 0.1 * block}], block=block, agreement=1.0)
        run.trial("track", [{"compute": 2.0}] * 2, block=block, agreement=0.5, same=False)
    return results_of(run)
