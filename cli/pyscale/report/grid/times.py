"""Sentences on the time of calls: later ones, first ones, and those of the published protocol."""

from __future__ import annotations

from collections.abc import Iterator

from pyscale.report.grid.sweep import Line, Sweep
from pyscale.report.grid.words import MEASURES, Row, ends, named, plural, size, the
from pyscale.report.wording import listing, number, ratio


def calls(sweep: Sweep) -> Iterator[str]:
    """State the time of a call at the smallest and the largest size, and the throughput there."""
    if not sweep.is_timed:
        yield "No timed call."
    for line in sweep.lines:
        timed = line.timed(sweep.measure)
        if not timed:
            if sweep.is_timed:
                yield f"{line.name}: no timed call."
            continue
        what = "the first call of a process" if sweep.measure == "first" else "a call"
        took = listing(_took(row, sweep.measure) for row in ends(timed))
        rates = listing(number(row["throughput_mp_s"]) for row in ends(timed))
        yield f"{line.name}: {what} takes {took}; throughput {rates} megapixels/s."


def _took(row: Row, measure: str) -> str:
    low, high = row[f"{measure}_s_low"], row[f"{measure}_s_high"]
    trials = "one trial" if row["trials"] == 1 else f"median of {plural(row['trials'], 'trial')}"
    sure = "no 95 % interval" if low is None else f"95 % interval {number(low)} to {number(high)} s"
    at = f"{number(row[f'{measure}_s'])} s at {size(row['length_px'])}"
    return f"{at} ({trials}; {sure})"


def fresh(sweep: Sweep) -> Iterator[str]:
    """Compare the first call and building the model with a later call."""
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
    """State where a process for one image gains less than later calls, beyond chance."""
    alone, later = sweep.ratios(line, "fresh"), sweep.ratios(line, "steady")
    for one in ends(alone):
        other = next((row for row in later if row["length_px"] == one["length_px"]), None)
        if other is None or not _apart(one, other):
            continue
        gains = "loses time on" if one["ratio_high"] < 1 else "gains less from"
        yield (
            f"A process for a single image of {size(one['length_px'])} {gains} "
            f"{the(line.value)}: {MEASURES['fresh']} take {number(one['value_s'])} s, "
            f"{ratio(one['ratio'])} times as fast as on {the(line.base)}; a later call is "
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
        beside = f"; {MEASURES['steady']} alone: {ours}" if ours else ""
        yield (
            f"{line.name}, building the model in every call, mean +/- SD over calls: "
            f"{told}{beside}."
        )


def mean_and_sd(row: Row) -> str:
    """Write a mean with its standard deviation, which is not an interval."""
    return f"{number(row['published_s'])} +/- {number(row['published_sd_s'])}"


def sharing(sweep: Sweep) -> Iterator[str]:
    """State the throughput of several workers over that of one, and how they share GPUs."""
    for row in sweep.of(sweep.grid.sharing):
        if row["invalid"]:
            continue
        interval = (
            "no 95 % interval"
            if row["gain_low"] is None
            else f"95 % interval {ratio(row['gain_low'])} to {ratio(row['gain_high'])}"
        )
        yield (
            f"{row['workers']} workers on {named(row['value']) or sweep.name} at "
            f"{size(row['length_px'])}{_shared(row)}: {number(row['throughput_mp_s'])} "
            f"megapixels/s together, {number(row['one_mp_s'])} alone, {ratio(row['gain'])} times "
            f"as much ({interval})."
        )


def _shared(row: Row) -> str:
    if row["device"] == "cpu":
        return ""
    return {
        "own": ", each with its own GPU",
        "time_slicing": ", sharing GPUs by time slices",
        "mps": ", sharing GPUs by MPS",
    }.get(row["gpu_sharing"] or "", "")
