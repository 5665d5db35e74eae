"""Sentences on loading patches: equal settings, stragglers, and doubts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyscale.analysis.flags import flags_of
from pyscale.analysis.intervals import repeats_needed
from pyscale.report.loader.words import SHORT, same_everywhere, varied_in
from pyscale.report.machine.told import named
from pyscale.report.ofranks import Row, at, doubts_of, ranks, trials_of
from pyscale.report.wording import listing, number, percent, ratio

if TYPE_CHECKING:
    from pyscale.analysis.loader.findings import LoaderFindings

DELIVERED = {
    "same": "delivered the same patches: places and pixels have one checksum",
    "different": "delivered different patches: their rates are of different work",
    "unknown": "have no checksum in common: whether they delivered the same patches is unknown",
}
"""Sentences on factories with equal settings, by the verdict on their patches."""


def ran(points: Sequence[Row]) -> str:
    """Name what was loaded, in a line."""
    entries = {row["stage"] for row in points}
    many = "1 configuration" if len(entries) == 1 else f"{len(entries)} configurations"
    return f"patch loading in {many} {trials_of(points)}"


def same(points: Sequence[Row]) -> Iterator[str]:
    """Name the settings that no configuration varies, and the short names of the others."""
    if told := same_everywhere(points):
        yield f"The same in all configurations: {', '.join(told)}."
    called = [f"{SHORT[name]} is {name}" for name in varied_in(points) if name in SHORT]
    if called:
        yield f"In names of configurations, {listing(called)}."


def measured_beside_inferred(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """State the measured rate over the inferred one, which others publish."""
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
        "Measured rate in step over the rate inferred from the slowest rank by itself, as others "
        f"publish it: {ratio(least['effective_over_inferred'])}{sure} with "
        f"{at(names[least['stage']], least)}{', the least' if reach else ''}{reach}. Below 1, "
        "ranks wait for each other; above 1, waiting ranks may leave cores or storage to the "
        "slowest."
    )


def stragglers(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Name the configurations in which one rank lags behind, with that rank."""
    for row in points:
        if "straggler" in flags_of(row):
            yield (
                f"{at(names[row['stage']], row)}: rank {row['slowest_rank']} is slowest with "
                f"{number(row['slowest_per_s'])} patches/s, {percent(row['straggling'])} below "
                "the middle one."
            )


def same_patches(findings: LoaderFindings, names: Mapping[str, str]) -> Iterator[str]:
    """Name the factories and readers that delivered the same patches, and those that did not."""
    at_counts: dict[tuple[str, str], list[int]] = {}
    for group in findings.same_patches:
        which = listing(names[stage] for stage in group.stages)
        at_counts.setdefault((which, group.verdict), []).append(group.workers)
    for (which, verdict), counts in at_counts.items():
        yield f"{which} {DELIVERED[verdict]} (N = {listing(counts)})."


def doubts(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Give the sentence of every flag once, with the configurations that raise it."""
    yield from doubts_of(points, lambda rows: named(at(names[row["stage"]], row) for row in rows))


def not_measured(points: Sequence[Row]) -> Iterator[str]:
    """List what loading did not measure."""
    if any(row["patches_per_s_low"] is None and row["patches_per_s"] for row in points):
        yield f"95 % intervals of configurations with fewer than {repeats_needed()} timed trials."
    if all(row["consumed_per_s"] is None for row in points):
        yield "Patches per second that training takes: not set, and no model was timed."
    if all(row["effective_slides"] is None for row in points):
        yield "Diversity of the patches: they do not name their slide and place."
    if any(row["cache_state"] == "verified-cold" for row in points):
        yield (
            "Caches outside the node: cold covers the node's own page cache before the batches are "
            "timed, not those of storage servers, disks and hypervisors."
        )
    largest = max((row["workers"] for row in points), default=None)
    if largest is not None:
        yield f"Anything beyond {ranks(largest)}: the report does not extrapolate."
