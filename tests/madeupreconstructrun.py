"""Results of a run of the suite `reconstruct` that nobody measured, made up.

`made_up()` gives its `Results`: the entries of `madeupreconstruct.ENTRIES` on 1, 2, 4 and 8 ranks,
six times, unless it is told otherwise.
"""

from dataclasses import replace
from itertools import product

import polars as pl

from madeupreconstruct import ENTRIES, reconstruction
from pyscale.analysis.ranks.findings import rank_findings
from runbuilder import RunBuilder

HARDWARE = "Xeon Gold 6338, 32 cores, 256 GiB"


def made_up(entries=ENTRIES, *, ranks=(1, 2, 4, 8), repeats=6, pipeline=False, **told):
    """Analyse a run of these entries, of which `reconstruction` is `told`."""
    run = RunBuilder()
    for block, entry, count in product(range(1, repeats + 1), entries, ranks):
        run.trial(
            entry.stage,
            [{"import": 3.0, "compute": 20.0}] * count,
            block=block,
            hardware=(HARDWARE,),
        )
    if pipeline:
        for block, count in product(range(1, 7), (1, 2)):
            work = {"import": 2.0, "compute": 20.0 / count + block / 10}
            run.trial("register_denoise", [work] * count, block=block, hardware=(HARDWARE,))
    results = run.results("suite reconstruct, made up")
    table = reconstruction(entries, ranks=ranks, repeats=repeats, **told)
    return replace(
        results,
        kinds=rank_findings(pl.DataFrame(), table, keep=1.0),
    )
