"""Sentences on what limits scaling; how sure the first cause is decides how it is put."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyscale.analysis.causes import LEAST_GAIN, Cause, Limits
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.whatif import TAKEN_OUT_WHOLE
from pyscale.report.wording import listing, number, percent, ratio, resampled_share

NAMES = {
    "imbalance": "imbalance (some workers had more to compute than others)",
    "start-up": "start-up (of containers, interpreters, imports and models)",
    "reading": "reading",
    "writing": "writing",
    "merging": "merging the windows",
    "contention": "contention (workers waited for a processor core)",
    "work-inflation": "work inflation (computing takes longer in sum than in the base case)",
    "unattributed": "time that no phase covers",
    "busy": "growth of the tasks (they take longer in sum than in the base case)",
}


def sentences(found: Limits) -> Iterator[str]:
    """Say what limits one configuration, what that cannot tell, and what else is worth a look."""
    at = f"At N = {found.workers}"
    if not found.causes:
        yield f"{at} nothing tells what limits scaling: only whole trials were timed."
    elif found.main is None:
        yield f"{at} {_nothing_large(found)}"
    else:
        yield " ".join([f"{at} {_main(found, found.main)}", *_what_grew(found, found.main)])
    if found.causes and "busy" not in _codes(found) and "contention" in found.not_measured:
        yield (
            f"{at} waiting for a core was not measured: contention would look like imbalance or "
            "work inflation."
        )
    for beside in found.beside:
        yield f"{at}: {beside.sentence}"


def of_several(found: Sequence[Limits]) -> Iterator[str]:
    """Say what limits the configurations of one curve; what is true of several is said once."""
    said: dict[str, list[int]] = {}
    for one in found:
        for sentence in sentences(one):
            said.setdefault(sentence.removeprefix(f"At N = {one.workers}"), []).append(one.workers)
    yield from (f"At N = {listing(counts)}{sentence}" for sentence, counts in said.items())


def _codes(found: Limits) -> set[str]:
    return {cause.code for cause in found.causes}


def _nothing_large(found: Limits) -> str:
    first = found.causes[0]
    measured = f"the efficiency of {ratio(found.efficiency)}"
    if first.gain <= 0:
        return f"nothing that was measured takes anything from {measured}."
    several = ""
    if found.efficiency * (1 + LEAST_GAIN) < 1:
        several = (
            " What is lost is the sum of several causes, or of some that hide each other because "
            "they fall on different workers."
        )
    return (
        f"no single cause would raise {measured} by {percent(LEAST_GAIN)} if it were gone; the "
        f"largest is {NAMES[first.code]}: {_were_it_not(found, first)} the "
        f"efficiency would be {ratio(first.efficiency)}.{several}"
    )


def _main(found: Limits, main: Cause) -> str:
    measured = f"in place of {ratio(found.efficiency)}"
    without = (
        f"{_were_it_not(found, main)} the efficiency would be {ratio(main.efficiency)} {measured} "
        f"and the wall time {number(main.seconds)} s shorter"
    )
    name, share = NAMES[main.code], _resamples(main)
    if found.sureness == "unknown":
        return (
            f"{name} seems to limit scaling: {without}. How sure that is cannot be said from fewer "
            f"than {repeats_needed()} trials."
        )
    if found.sureness == "undecided":
        rival = max(found.causes[1:], key=lambda cause: cause.share_first or 0.0)
        return (
            f"either {name} or {NAMES[rival.code]} limits scaling most, the trials do not tell "
            f"which: mending the one would make the efficiency {ratio(main.efficiency)}, mending "
            f"the other {ratio(rival.efficiency)}, {measured} (first among the causes in {share} "
            f"and {_resamples(rival)} of resamples)."
        )
    limits = "limits scaling" if found.sureness == "sure" else "probably limits scaling"
    return f"{name} {limits}: {without} (first among the causes in {share} of resamples)."


def _were_it_not(found: Limits, cause: Cause) -> str:
    """Say what is supposed: most causes are there at N0 too, and only their growth costs."""
    if cause.code in TAKEN_OUT_WHOLE:
        return "without it"
    base = found.baseline_workers
    return f"had it cost no more worker-seconds for the same work than at N = {base},"


def _resamples(cause: Cause) -> str:
    return resampled_share(cause.share_first or 0.0)


def _what_grew(found: Limits, main: Cause) -> Iterator[str]:
    """State the growth behind a main cause that is one, and what it cannot tell."""
    if found.inflation is None:
        return
    times = f"{ratio(found.inflation)} times the worker-seconds of the base case"
    if main.code == "busy":
        yield (
            f"For the same work the tasks took {times}; no phases were recorded, so that start-up, "
            "reading, computing and waiting for a core cannot be told apart."
        )
    elif main.code == "work-inflation" and found.cpu_growth is not None:
        grown = f"For the same work computing took {times} and {ratio(found.cpu_growth)} times "
        if found.cpu_growth - 1 >= (found.inflation - 1) / 2:
            yield (
                f"{grown}its processor time: more work, as where windows overlap, or slower cores "
                "and memory that the workers share. Times alone cannot tell these apart."
            )
        else:
            yield (
                f"{grown}its processor time: within computing, workers mostly waited for something "
                "that is no core, like a GPU, a disk or a lock."
            )
