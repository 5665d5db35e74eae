"""Sentences on loading patches: what was the same, who straggles, and what must be doubted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.loader.flags import SENTENCES
from pyscale.report.loader.words import SHORT, same_everywhere, varied_in
from pyscale.report.machine.told import named
from pyscale.report.ofranks import Row, at, doubts_of, flags_of, ranks, trials_of
from pyscale.report.trust import IN_SHORT as OF_TRIALS
from pyscale.report.wording import listing, number, percent, ratio

if TYPE_CHECKING:
    from pyscale.analysis.loader.findings import LoaderFindings

IN_SHORT = OF_TRIALS | {
    "failed": "a trial failed",
    "unstable": "rates scatter",
    "not-cold": "slides lay in memory that were to be read cold",
    "oversubscribed": "more processes than cores",
    "straggler": "one rank lags behind",
    "checksum-differs": "trials delivered different patches",
    "from-memory": "batches came from memory, not from storage",
}
"""Every flag in a few words; `pyscale.analysis.loader.flags.SENTENCES` says it in full."""
DELIVERED = {
    "same": "delivered the same patches: places and pixels have one checksum",
    "different": "delivered different patches, so that their rates are of different work",
    "unknown": "have no checksum in common: nobody knows whether they delivered the same patches",
}
"""What is said of factories with equal settings, by the verdict on their patches."""


def ran(points: Sequence[Row]) -> str:
    """Say what was loaded, in a line."""
    entries = {row["stage"] for row in points}
    many = "1 configuration" if len(entries) == 1 else f"{len(entries)} configurations"
    return f"patch loading in {many} {trials_of(points)}"


def same(points: Sequence[Row]) -> Iterator[str]:
    """Name the settings that no configuration varies, and say how the others are written."""
    if told := same_everywhere(points):
        yield f"The same in all configurations: {', '.join(told)}."
    called = [f"{SHORT[name]} is {name}" for name in varied_in(points) if name in SHORT]
    if called:
        yield f"In the names of configurations {listing(called)}."


def measured_beside_inferred(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Say how far the number that others publish is above what ranks deliver in step."""
    several = [row for row in points if row["effective_over_inferred"] is not None]
    if not several:
        return
    least, most = (
        choose(several, key=lambda row: float(row["effective_over_inferred"]))
        for choose in (min, max)
    )
    ends = [least[f"effective_over_inferred_{end}"] for end in ("low", "high")]
    sure = "" if None in ends else f" (95 % interval {ratio(ends[0])} to {ratio(ends[1])})"
    reach = f", {ratio(most['effective_over_inferred'])} at the most" if len(several) > 1 else ""
    yield (
        "What ranks deliver in step, over what is inferred from the slowest of them by itself, as "
        f"others publish it: {ratio(least['effective_over_inferred'])}{sure} with "
        f"{at(names[least['stage']], least)}{', the least' if reach else ''}{reach}. Below 1 "
        "is waiting for each other; above 1, ranks that wait may have left cores or storage to "
        "the slowest."
    )


def stragglers(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Name the configurations in which one rank lags behind, and which rank it is."""
    for row in points:
        if "straggler" in flags_of(row):
            yield (
                f"{at(names[row['stage']], row)}: rank {row['slowest_rank']} is slowest with "
                f"{number(row['slowest_per_s'])} patches/s, {percent(row['straggling'])} below "
                "the middle one."
            )


def same_patches(findings: LoaderFindings, names: Mapping[str, str]) -> Iterator[str]:
    """Say which factories and readers delivered the same patches, and which did not."""
    at_counts: dict[tuple[str, str], list[int]] = {}
    for group in findings.same_patches:
        which = listing(names[stage] for stage in group.stages)
        at_counts.setdefault((which, group.verdict), []).append(group.workers)
    for (which, verdict), counts in at_counts.items():
        yield f"{which} {DELIVERED[verdict]} (N = {listing(counts)})."


def doubts(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Give the sentence of every flag once, with the configurations that raise it."""
    yield from doubts_of(
        points, SENTENCES, lambda rows: named(at(names[row["stage"]], row) for row in rows)
    )


def not_measured(points: Sequence[Row]) -> Iterator[str]:
    """Say what the numbers of loading leave open."""
    if any(row["patches_per_s_low"] is None and row["patches_per_s"] for row in points):
        yield f"95 % intervals of configurations that fewer than {repeats_needed()} trials timed."
    if all(row["consumed_per_s"] is None for row in points):
        yield "How many patches training takes: nobody told, and no model was timed."
    if all(row["effective_slides"] is None for row in points):
        yield "How diverse the patches are: they do not say from which slide and place they come."
    if any(row["cache_state"] == "verified-cold" for row in points):
        yield (
            "Caches outside the node: cold speaks of the node's own page cache, before the batches "
            "are timed; those of storage servers, disks and hypervisors cannot be seen from it."
        )
    largest = max((row["workers"] for row in points), default=None)
    if largest is not None:
        yield f"Anything beyond {ranks(largest)}: nothing here is extrapolated."
