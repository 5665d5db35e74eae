"""Sentences on reconstruction over ranks: runs, failures and doubts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyscale.analysis.intervals import repeats_needed
from pyscale.report.ofranks import Row, at, doubts_of, ranks, trials_of
from pyscale.report.wording import listing


def ran(points: Sequence[Row]) -> str:
    """Name what was reconstructed, in a line."""
    entries = {row["stage"] for row in points}
    many = "1 image" if len(entries) == 1 else f"{len(entries)} images"
    return f"reconstruction of {many} {trials_of(points)}"


def failed(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Name every configuration that failed, with its error."""
    for row in points:
        if row["error"]:
            some = "" if row["wall_s"] is None else " in some trials"
            yield f"{at(names[row['stage']], row)} failed{some}: {row['error']}"


def doubts(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Give the sentence of every flag once, with the configurations that raise it."""
    yield from doubts_of(points, lambda rows: "; ".join(_places(rows, names)))


def _places(rows: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Name reconstructions, each with the numbers of ranks that are meant."""
    for stage in dict.fromkeys(row["stage"] for row in rows):
        counts = [row["workers"] for row in rows if row["stage"] == stage]
        yield f"{names[stage]} at N = {listing(counts)}"


def not_measured(points: Sequence[Row]) -> Iterator[str]:
    """List what reconstruction did not measure."""
    timed = [row for row in points if row["wall_s"] is not None]
    if any(row["wall_s_low"] is None for row in timed):
        yield f"95 % intervals of reconstructions with fewer than {repeats_needed()} timed trials."
    if any(row["timing_only"] for row in timed):
        yield (
            "Quality of images from random weights of the denoiser: set `weights` under "
            "`[stages.reconstruct]` in `pyscale.toml` to a file of trained ones."
        )
    if timed and all(row["device"] == "cpu" for row in timed):
        yield "GPUs, and NCCL between them: ranks computed on processors."
    largest = max((row["workers"] for row in timed), default=None)
    if largest is not None:
        yield f"Reconstruction with more than {ranks(largest)}: the report does not extrapolate."
