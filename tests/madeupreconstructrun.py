"""Results of a run of the suite `reconstruct` that nobody measured, made up.

`made_up()` gives its `Results`: the entries of `madeupreconstruct.ENTRIES` on 1, 2, 4 and 8 ranks,
six times, unless it is told otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path
from typing import Any

from madeupreconstruct import ENTRIES, Entry, reconstruction
from pyscale.analysis.reconstruct.findings import reconstruct_findings
from pyscale.analysis.trials import trial_table
from pyscale.analysis.workertable import worker_table
from pyscale.report.context import ReportContext
from pyscale.report.results import Results
from pyscale.results import analysed

# Test folders are no packages, so the builder beside the tests of analysis is loaded by path.
_found = spec_from_file_location(
    "run_builder", Path(__file__).parent / "cli" / "analysis" / "conftest.py"
)
assert _found is not None
assert _found.loader is not None
_builder = module_from_spec(_found)
_found.loader.exec_module(_builder)

HARDWARE = "Xeon Gold 6338, 32 cores, 256 GiB"


def made_up(
    entries: Sequence[Entry] = ENTRIES,
    *,
    ranks: Sequence[int] = (1, 2, 4, 8),
    repeats: int = 6,
    pipeline: bool = False,
    **told: Any,
) -> Results:
    """Analyse a run of these entries; see the text on top.

    Parameters
    ----------
    entries : sequence of Entry
    ranks : sequence of int
    repeats : int
    pipeline : bool
        Whether a stage that reads a movie was measured beside, at N = 1 and 2.
    **told
        Passed to `madeupreconstruct.reconstruction`.
    """
    run = _builder.RunBuilder()
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
    results = analysed(
        trial_table(run.tasks, run.spans),
        ReportContext(title="suite reconstruct, made up"),
        workers=worker_table(run.tasks, run.spans),
    )
    table = reconstruction(entries, ranks=ranks, repeats=repeats, **told)
    return replace(
        results,
        reconstruct=reconstruct_findings(table),
        reconstruct_entries=frozenset(entry.stage for entry in entries),
    )
