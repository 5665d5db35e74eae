"""How fast an installation is beside references that did the very same work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median
from typing import TYPE_CHECKING

from pyscale.analysis.intervals import ratio_interval
from pyscale.references.model import Loaded
from pyscale.validation.findings import Speed

if TYPE_CHECKING:
    import polars as pl


def speeds(
    trials: pl.DataFrame, work_id: str | None, references: Iterable[Loaded]
) -> Iterator[Speed]:
    """Compare medians of wall times, configuration by configuration.

    A speedup is the reference's median over this run's, with the percentile bootstrap of this
    ratio where both have trials enough. A reference that is this very run is left out.

    Parameters
    ----------
    trials : polars.DataFrame
        As `pyscale.analysis.trials.trial_table` gives them.
    work_id : str or None
        Fingerprint of the run's work (`pyscale.references.workid`); None where it is not known.
    references : iterable of Loaded
        Those of other work are left out.
    """
    own = _times(trials.filter("valid"))
    for loaded in references:
        reference = loaded.reference
        same_work = work_id is not None and reference.work_id == work_id
        if not same_work or not reference.has_wall_times:
            continue
        theirs = _times(loaded.table)
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
                speedup=other_s / median_s,
                speedup_low=interval.low if interval else None,
                speedup_high=interval.high if interval else None,
            )


def _times(table: pl.DataFrame) -> dict[tuple[str, int], list[float]]:
    """Wall times of each configuration, in seconds."""
    found: dict[tuple[str, int], list[float]] = {}
    for stage, workers, wall_s in table.select("stage", "workers", "wall_s").iter_rows():
        found.setdefault((stage, workers), []).append(wall_s)
    return found
