"""Sentences on how long calls take: later ones, first ones, and those of the published protocol."""

from __future__ import annotations

from collections.abc import Iterator

from pyscale.analysis.intervals import repeats_needed
from pyscale.report.grid.sweep import Line, Sweep
from pyscale.report.grid.words import MEASURES, Row, ends, named, plural, size, the
from pyscale.report.wording import listing, number, ratio


def calls(sweep: Sweep) -> Iterator[str]:
    """State the time of a call at the smallest and the largest size, and the throughput there."""
    if not sweep.is_timed:
        yield "No call was timed."
    for line in sweep.lines:
        timed = line.timed(sweep.measure)
        if not timed:
            if sweep.is_timed:
                yield f"{line.name}: no call was timed."
            continue
        what = "the first call of a process" if sweep.measure == "first" else "a call"
        took = listing(_took(row, sweep.measure) for row in ends(timed))
        rates = listing(number(row["throughput_mp_s"]) for row in ends(timed))
        yield f"{line.name}: {what} takes {took}; that is {rates} megapixels per second."


def _took(row: Row, measure: str) -> str:
    low, high = row[f"{measure}_s_low"], row[f"{measure}_s_high"]
    trials = "one trial" if row["trials"] == 1 else f"median of {plural(row['trials'], 'trial')}"
    sure = (
        f"no 95 % interval, {repeats_needed()} trials needed"
        if low is None
        else f"95 % interval {number(low)} to {number(high)} s"
    )
    at = f"{number(row[f'{measure}_s'])} s at {size(row['length_px'])}"
    return f"{at} ({trials}; {sure})"


def fresh(sweep: Sweep) -> Iterator[str]:
    """Hold the first call and building the model against a later call."""
    for line in sweep.lines:
        timed = [row for row in line.timed("first") if row["steady_s"] is not None]
        for row in ends(timed):
            start = row["start_s"]
            built = "" if start is None else f", after {number(start)} s for building the model"
            yield (
                f"{line.name} at {size(row['length_px'])}: the first call of a process takes "
                f"{number(row['first_s'])} s{built}; a later one takes {number(row['steady_s'])} s."
            )
        yield from _one_image(sweep, line)


def _one_image(sweep: Sweep, line: Line) -> Iterator[str]:
    """Say that a process for one image gains less than later calls, where that is sure."""
    alone, later = sweep.ratios(line, "fresh"), sweep.ratios(line, "steady")
    for one in ends(alone):
        other = next((row for row in later if row["length_px"] == one["length_px"]), None)
        if other is None or not _apart(one, other):
            continue
        gains = "loses time on" if one["ratio_high"] < 1 else "gains less from"
        yield (
            f"So a process for a single image of {size(one['length_px'])} {gains} "
            f"{the(line.value)}: {MEASURES['fresh']} take {number(one['value_s'])} s there, which "
            f"is {ratio(one['ratio'])} times as fast as on {the(line.base)}; a later call is "
            f"{ratio(other['ratio'])} times as fast."
        )


def _apart(alone: Row, later: Row) -> bool:
    """Whether the ratio of a process for one image lies below the later calls' for sure."""
    high, low = alone["ratio_high"], later["ratio_low"]
    if high is None or low is None:
        return False
    return bool(high < low)


def published(sweep: Sweep) -> Iterator[str]:
    """State mean and standard deviation by the published protocol, beside a later call."""
    for line in sweep.lines:
        rows = ends(line.timed("published"))
        if not rows:
            continue
        told = listing(
            f"{mean_and_sd(row)} s at {size(row['length_px'])} "
            f"({plural(row['published_calls'], 'call')})"
            for row in rows
        )
        ours = listing(
            f"{number(row['steady_s'])} s" for row in rows if row["steady_s"] is not None
        )
        beside = f"; {MEASURES['steady']} alone takes {ours}" if ours else ""
        yield (
            f"{line.name}, building the model in every call, mean +/- SD over calls: "
            f"{told}{beside}."
        )


def mean_and_sd(row: Row) -> str:
    """Write a mean with its standard deviation, which is no interval."""
    return f"{number(row['published_s'])} +/- {number(row['published_sd_s'])}"


def sharing(sweep: Sweep) -> Iterator[str]:
    """Say how much more several workers do than one, and how they share GPUs."""
    for row in sweep.of(sweep.grid.sharing):
        if row["invalid"]:
            continue
        interval = (
            f"no 95 % interval, {repeats_needed()} trials needed"
            if row["gain_low"] is None
            else f"95 % interval {ratio(row['gain_low'])} to {ratio(row['gain_high'])}"
        )
        yield (
            f"{row['workers']} workers on {named(row['value']) or sweep.name} at "
            f"{size(row['length_px'])}{_shared(row)}: {number(row['throughput_mp_s'])} megapixels "
            f"per second together and {number(row['one_mp_s'])} of one alone, "
            f"{ratio(row['gain'])} times as much ({interval})."
        )


def _shared(row: Row) -> str:
    if row["device"] == "cpu":
        return ""
    return {
        "own": ", each with a GPU of its own",
        "time_slicing": ", which share GPUs by time slices",
        "mps": ", which share GPUs by MPS",
    }.get(row["gpu_sharing"] or "", "")
