"""The validation of a run: its records beside what its suite expects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median

import polars as pl

from pyscale.analysis.intervals import ratio_interval, with_ends
from pyscale.references.model import Loaded
from pyscale.report.wording import grouped
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from pyscale.validation.expected import Expected, load_expected, other_work
from pyscale.validation.findings import Speed, ValidationFindings
from pyscale.validation.judging import judged, measured_of


def validation_of(
    run: RunFolder, trials: pl.DataFrame, work_id: str | None, references: Iterable[Loaded]
) -> ValidationFindings | None:
    """Judge a run by its table of trials; None where its suite expects nothing."""
    plan = run.plan
    if plan.suite.expected is None:
        return None
    expected = load_expected(plan.suite.expected)
    fed_by = {entry: tuple(step.inputs.values()) for entry, step in plan.suite.stages.items()}
    found = judged(expected, measured_of(run), fed_by, _why_unfit(run, expected))
    return found.model_copy(update={"speeds": tuple(speeds(trials, work_id, references))})


def _why_unfit(run: RunFolder, expected: Expected) -> str:
    """Say in a clause why what it gave proves nothing; empty where it does."""
    for clause in other_work(run.plan, expected):
        return clause
    given = {file.name: file.sha256 for file in read_provenance(run.path).input_files}
    others = [name for name, sha256 in expected.inputs.items() if given.get(name) != sha256]
    if not others:
        return ""
    return (
        f"{' and '.join(others)} is made from the same seed but differs from the reference "
        f"installation, as with another NumPy (there: {expected.reference.software})"
    )


def speeds(
    trials: pl.DataFrame, work_id: str | None, references: Iterable[Loaded]
) -> Iterator[Speed]:
    """Compare medians of wall times with references of the same work that are not this run."""
    own = _times(trials.filter("valid"))
    for loaded in references:
        reference = loaded.reference
        if not reference.is_same_work(work_id) or not reference.has_wall_times:
            continue
        theirs = _times(loaded.table)
        # A reference that was made of this very run tells nothing of its speed.
        if theirs == own:
            continue
        for (entry, workers), times in own.items():
            others = theirs.get((entry, workers))
            if others is None:
                continue
            median_s, other_s = median(times), median(others)
            interval = ratio_interval(others, times, paired=False)
            yield Speed(
                entry=entry,
                workers=workers,
                reference=reference.name,
                wall_s=median_s,
                reference_s=other_s,
                trials=len(times),
                reference_trials=len(others),
                **with_ends("speedup", other_s / median_s, interval),
            )


def _times(table: pl.DataFrame) -> dict[tuple[str, int], list[float]]:
    """Wall times of each configuration, in seconds."""
    rows = table.select("stage", "workers", "wall_s").iter_rows()
    return grouped(((stage, workers), wall_s) for stage, workers, wall_s in rows)
