"""Results of a run of the suite `loader` that nobody measured, made up.

`made_up()` gives its `Results`: the entries of `madeuploader.ENTRIES` on 1 and 2 ranks, six times,
unless it is told otherwise. With `pipeline` a stage that reads a movie was measured beside, at
N = 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path
from typing import Any

from madeuploader import ENTRIES, Entry, loading
from pyscale.analysis.loader.findings import loader_findings
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

KEEP = 0.8
HARDWARE = "Xeon Gold 6338, 32 cores, 256 GiB"


def made_up(
    entries: Sequence[Entry] = ENTRIES,
    *,
    ranks: Sequence[int] = (1, 2),
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
    **told
        Passed to `madeuploader.loading`.
    """
    run = _builder.RunBuilder()
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
    results = analysed(
        trial_table(run.tasks, run.spans),
        ReportContext(title="suite loader, made up"),
        workers=worker_table(run.tasks, run.spans),
    )
    table = loading(entries, ranks=ranks, repeats=repeats, **told)
    return replace(
        results,
        loader=loader_findings(table, keep=KEEP),
        loader_entries=frozenset(entry.stage for entry in entries),
    )


def consuming(per_s: float, entries: Sequence[Entry] = ENTRIES) -> list[Entry]:
    """The entries beside training that takes so many patches a second on each rank."""
    return [replace(entry, consumed_per_s=per_s) for entry in entries]
