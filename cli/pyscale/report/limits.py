"""Sentences on the limits of scaling, by the confidence in the first cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyscale.analysis.causes import LEAST_GAIN, Cause, Limits
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.whatif import TAKEN_OUT_WHOLE
from pyscale.wording import grouped, listing, number, percent, ratio, resampled_share

SHORT = {
    "imbalance": "uneven shares of the work",
    "start-up": "start-up",
    "reading": "reading",
    "writing": "writing",
    "merging": "merging the windows",
    "contention": "waiting for cores",
    "work-inflation": "work inflation",
    "unattributed": "time that no phase covers",
    "busy": "tasks that take longer in sum",
}
"""Every cause of loss in a few words."""
NAMES = {
    "imbalance": "imbalance (some workers had more to compute than others)",
    "start-up": "start-up (of containers, interpreters, imports and models)",
    "reading": "reading",
    "writing": "writing",
    "merging": "merging windows",
    "contention": "contention (workers waited for a processor core)",
    "work-inflation": "work inflation (total compute time exceeds the baseline's)",
    "unattributed": "unattributed time",
    "busy": "task growth (total task time exceeds the baseline's)",
}
"""The same, explained."""


def sentences(found: Limits) -> Iterator[str]:
    """State what limits one configuration, and other findings beside it."""
    at = f"At N = {found.workers}"
    if not found.causes:
        yield f"{at} the limit of scaling is unknown: only whole trials were timed."
    elif found.main is None:
        yield f"{at} {_nothing_large(found)}"
    else:
        yield " ".join([f"{at} {_main(found, found.main)}", *_what_grew(found, found.main)])
    codes = {cause.code for cause in found.causes}
    if codes and "busy" not in codes and "contention" in found.not_measured:
        yield (
            f"{at} waiting for a core was not measured: contention would look like imbalance or "
            "work inflation."
        )
    for beside in found.beside:
        yield f"{at}: {beside.sentence}"


def of_several(found: Sequence[Limits]) -> Iterator[str]:
    """State what limits the configurations of one curve, equal sentences once."""
    said = grouped(
        (sentence.removeprefix(f"At N = {one.workers}"), one.workers)
        for one in found
        for sentence in sentences(one)
    )
    yield from (f"At N = {listing(counts)}{sentence}" for sentence, counts in said.items())


def rival(found: Limits) -> Cause:
    """The cause that is first most often beside the main one; that one where it is alone."""
    others = found.causes[1:] or found.causes
    return max(others, key=lambda cause: cause.share_first or 0.0)


def _nothing_large(found: Limits) -> str:
    first = found.causes[0]
    measured = f"the efficiency of {ratio(found.efficiency)}"
    if first.gain <= 0:
        return f"no measured cause lowers {measured}."
    several = (
        " The loss is the sum of several causes, or of causes on different workers that hide each "
        "other."
    )
    return (
        f"removing any single cause would raise {measured} by less than {percent(LEAST_GAIN)}. The "
        f"largest is {NAMES[first.code]}: {_were_it_not(found, first)}, the "
        f"efficiency would be {ratio(first.efficiency)}."
        f"{several if found.efficiency * (1 + LEAST_GAIN) < 1 else ''}"
    )


def _main(found: Limits, main: Cause) -> str:
    measured = f"instead of {ratio(found.efficiency)}"
    without = (
        f"{_were_it_not(found, main)}, the efficiency would be {ratio(main.efficiency)} {measured} "
        f"and the wall time {number(main.seconds)} s shorter"
    )
    name, share = NAMES[main.code], resampled_share(main.share_first or 0.0)
    if found.sureness == "unknown":
        return (
            f"{name} seems to limit scaling: {without} (confidence unknown: fewer than "
            f"{repeats_needed()} trials)."
        )
    if found.sureness == "undecided":
        other = rival(found)
        return (
            f"either {name} or {NAMES[other.code]} limits scaling most: without the former the "
            f"efficiency would be {ratio(main.efficiency)}, without the latter "
            f"{ratio(other.efficiency)}, {measured} (largest cause in {share} and "
            f"{resampled_share(other.share_first or 0.0)} of resamples)."
        )
    limits = "limits scaling" if found.sureness == "sure" else "probably limits scaling"
    return f"{name} {limits}: {without} (largest cause in {share} of resamples)."


def _were_it_not(found: Limits, cause: Cause) -> str:
    # Most causes exist at N0 too, and only their growth costs.
    is_whole, growth = cause.code in TAKEN_OUT_WHOLE, f"s growth over N = {found.baseline_workers}"
    return f"without it{'' if is_whole else growth}"


def _what_grew(found: Limits, main: Cause) -> Iterator[str]:
    if found.inflation is None:
        return
    times = f"{ratio(found.inflation)} times the baseline's worker-seconds"
    if main.code == "busy":
        yield (
            f"For the same work the tasks took {times}; without recorded phases, start-up, "
            "reading, computing and waiting for a core cannot be separated."
        )
    elif main.code == "work-inflation" and found.cpu_growth is not None:
        why = (
            "while computing, workers mostly waited for something other than a core (a GPU, a "
            "disk, a lock)."
        )
        # Where processor time grew half as much or more, workers were on a core, not waiting.
        if found.cpu_growth - 1 >= (found.inflation - 1) / 2:
            why = (
                "more work (overlapping windows), or slower shared cores and memory. Times alone "
                "cannot separate these."
            )
        yield (
            f"For the same work computing took {times} and {ratio(found.cpu_growth)} times its "
            f"processor time: {why}"
        )
