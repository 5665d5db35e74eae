"""Results of a run of the suite `loader` that nobody measured, made up.

`made_up()` gives its `Results`: the entries of `madeuploader.ENTRIES` on 1 and 2 ranks, six times,
unless it is told otherwise. With `pipeline` a stage that reads a movie was measured beside, at
N = 1 and 2.
"""

from dataclasses import replace
from itertools import product

import polars as pl

from madeuploader import ENTRIES, loading
from pyscale.analysis.ranks.findings import rank_findings
from runbuilder import RunBuilder

KEEP = 0.8
HARDWARE = "Xeon Gold 6338, 32 cores, 256 GiB"


def made_up(entries=ENTRIES, *, ranks=(1, 2), repeats=6, pipeline=False, **told):
    """Analyse a run of these entries, of which `madeuploader.loading` is `told`."""
    run = RunBuilder()
    for block, entry, count in product(range(1, repeats + 1), entries, ranks):
        run.trial(
            entry.stage,
            [{"import": 3.0, "read": 1.0, "compute": 20.0}] * count,
            block=block,
            hardware=(HARDWARE,),
        )
    if pipeline:
        for block, count in product(range(1, 7), (1, 2)):
            run.trial(
                "register_denoise",
                [{"import": 2.0, "read": 0.4, "compute": 20.0 / count + block / 10}] * count,
                block=block,
                hardware=(HARDWARE,),
            )
    results = run.results("suite loader, made up")
    table = loading(entries, ranks=ranks, repeats=repeats, **told)
    return replace(
        results,
        kinds=rank_findings(table, pl.DataFrame(), keep=KEEP),
    )


def consuming(per_s, entries=ENTRIES):
    """The entries beside training that takes so many patches a second on each rank."""
    return [replace(entry, consumed_per_s=per_s) for entry in entries]
