"""Results as figures find them: of tables, and of runs with what their workers did when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.context import ReportContext
from pyscale.report.results import Results
from pyscale.results import analysed


@pytest.fixture(scope="session")
def of_table() -> Callable[..., Results]:
    """Analyse wall times that fall with N as published ones do, one trial each."""

    def analyse(
        stages: Sequence[str] = ("a",), counts: Sequence[int] = (1, 2, 4, 8), **columns: Any
    ) -> Results:
        rows = [
            {"stage": stage, "workers": n, "wall_s": 10.0 ** (1 + place % 5) / n**0.7}
            for place, stage in enumerate(stages)
            for n in counts
        ]
        table = pl.DataFrame(rows).with_columns(**columns)
        return analysed(
            trials_from_wall_times(table), ReportContext(title="a table"), interleaved=False
        )

    return analyse


@pytest.fixture(scope="session")
def on_nodes(
    new_run: Callable[[], Any], results_of: Callable[[Any], Results]
) -> Callable[..., Results]:
    """Results of stages at N = 1 and a larger N, whose workers are dealt to nodes."""

    def measure(
        stages: Sequence[str], workers: int, nodes: Sequence[str] = ("node1",), blocks: int = 1
    ) -> Results:
        run = new_run()
        for block in range(blocks):
            for stage in stages:
                for n in (1, workers):
                    own = [
                        {"import": 2.0, "read": 1.0, "compute": (90.0 + worker) / n}
                        for worker in range(n)
                    ]
                    run.trial(stage, own, block=block, nodes=nodes[:n], merge={"merge": 1.0})
        return results_of(run)

    return measure


@pytest.fixture(scope="session")
def nothing_timed(new_run: Callable[[], Any], results_of: Callable[[Any], Results]) -> Results:
    """A run whose only trial failed."""
    return results_of(new_run().trial("track", [{"compute": 1.0}], failed=["w0"]))
