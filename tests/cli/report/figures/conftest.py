"""Results as figures find them: of tables, and of runs with what their workers did when."""

import polars as pl
import pytest

from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.evaluation.results import analysed
from pyscale.report.context import ReportContext


@pytest.fixture(scope="session")
def of_table():
    """Analyse wall times that fall with N as published ones do, one trial each."""

    def analyse(stages=("a",), counts=(1, 2, 4, 8), **columns):
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
def on_nodes(new_run):
    """Results of stages at N = 1 and a larger N, whose workers are dealt to nodes."""

    def measure(stages, workers, nodes=("node1",), blocks=1):
        run = new_run()
        for block in range(blocks):
            for stage in stages:
                for n in (1, workers):
                    own = [
                        {"import": 2.0, "read": 1.0, "compute": (90.0 + worker) / n}
                        for worker in range(n)
                    ]
                    run.trial(stage, own, block=block, nodes=nodes[:n], merge={"merge": 1.0})
        return run.results_with_timeline()

    return measure


@pytest.fixture(scope="session")
def nothing_timed(new_run):
    """A run whose only trial failed."""
    return new_run().trial("track", [{"compute": 1.0}], failed=["w0"]).results_with_timeline()
