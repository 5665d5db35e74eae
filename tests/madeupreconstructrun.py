"""Results of a run of the suite `reconstruct` that nobody measured, made up.

`made_up()` gives its `Results`: the entries of `madeupreconstruct.ENTRIES` on 1, 2, 4 and 8 ranks,
six times, unless it is told otherwise.
"""

from dataclasses import replace

import polars as pl

from madeupreconstruct import ENTRIES, reconstruction
from pyscale.analysis.ranks.findings import rank_findings
from runbuilder import RunBuilder


def made_up(entries=ENTRIES, *, ranks=(1, 2, 4, 8), repeats=6, pipeline=False, **told):
    """Analyse a run of these entries, of which `reconstruction` is `told`."""
    phases, beside = {"import": 3.0, "compute": 20.0}, {"import": 2.0} if pipeline else None
    run = RunBuilder().of_ranks(entries, ranks, repeats, phases, beside)
    table = reconstruction(entries, ranks=ranks, repeats=repeats, **told)
    found = rank_findings(pl.DataFrame(), table, keep=1.0)
    return replace(run.results("suite reconstruct, made up"), kinds=found)
