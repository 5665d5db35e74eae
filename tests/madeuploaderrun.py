"""Results of a run of the suite `loader` that nobody measured, made up.

`made_up()` gives its `Results`: the entries of `madeuploader.ENTRIES` on 1 and 2 ranks, six times,
unless it is told otherwise. With `pipeline` a stage that reads a movie was measured beside, at
N = 1 and 2.
"""

from dataclasses import replace

import polars as pl

from madeuploader import ENTRIES, loading
from pyscale.analysis.ranks.findings import rank_findings
from runbuilder import RunBuilder

KEEP = 0.8


def made_up(entries=ENTRIES, *, ranks=(1, 2), repeats=6, pipeline=False, **told):
    """Analyse a run of these entries, of which `madeuploader.loading` is `told`."""
    phases = {"import": 3.0, "read": 1.0, "compute": 20.0}
    beside = {"import": 2.0, "read": 0.4} if pipeline else None
    run = RunBuilder().of_ranks(entries, ranks, repeats, phases, beside)
    table = loading(entries, ranks=ranks, repeats=repeats, **told)
    found = rank_findings(table, pl.DataFrame(), keep=KEEP)
    return replace(run.results("suite loader, made up"), kinds=found)


def consuming(per_s, entries=ENTRIES):
    """The entries beside training that takes so many patches a second on each rank."""
    return [replace(entry, consumed_per_s=per_s) for entry in entries]
