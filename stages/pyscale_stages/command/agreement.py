"""Compares the output of a step at one N with that at the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pyscale_stages.command.calling import execute, written_movie
from pyscale_stages.command.joining import read_table
from pyscale_stages.command.params import CHECKS, CommandParams
from pyscale_stages.contract import Agreement
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.task import Task
from pyscale_stages.truth.cells import AGREEMENT_IOU, match_cells, summed
from pyscale_stages.windows import folders_to_check, same_bytes

if TYPE_CHECKING:
    import polars as pl


LEAST_PRECISION = 0.99
"""One doubtful cell in a hundred may change, as for the segmentation of pyscale's own."""


@dataclass
class Difference:
    """How much of two files is the same, and how far the rest is apart."""

    same: int
    of: int
    largest: float = 0.0

    def __add__(self, more: Difference) -> Difference:
        return Difference(self.same + more.same, self.of + more.of, max(self.largest, more.largest))


def check(task: Task[CommandParams]) -> Agreement:
    """Compare pixels, rows or bytes, by the ending of each file's name."""
    params = task.params
    reference, other = (folder / params.output_name for folder in folders_to_check(task))
    if params.check == "labels":
        return _of_labels(reference, other)
    if params.check not in CHECKS:
        return _by_command(task, reference, other)
    names = _names(reference) | _names(other)
    both = _names(reference) & _names(other)
    found = Difference(0, len(names - both))
    for name in sorted(both):
        found += _difference(reference / name, other / name, params.tolerance)
    return Agreement(
        same=found.same == found.of,
        identical=names == both and same_bytes(reference, other, names),
        score=found.same / found.of if found.of else 1.0,
        measure="pixels of images, rows of tables and bytes of other files that are the same"
        + (f" within {params.tolerance:g}" if params.tolerance else ""),
        tolerance=1.0,
        details={"largest_difference": found.largest, "files_of_one_alone": len(names - both)},
    )


def _by_command(task: Task[CommandParams], reference: Path, other: Path) -> Agreement:
    """Let a command of the user's own judge: 0 is the same, 1 is not."""
    params = task.params
    files = {"reference": str(reference.absolute()), "other": str(other.absolute())}
    values = {**files, "folder": str(params.folder)}
    heard = execute(task, params.words_of(params.check), values, fine=(0, 1))
    quality = {one.name: one.value for one in heard.measured}
    task.set_quality(**quality)
    same = heard.returncode == 0
    return Agreement(
        same=same,
        identical=False,
        score=float(same),
        measure="what a command of one's own says",
        tolerance=1.0,
        details=quality,
    )


def _of_labels(reference: Path, other: Path) -> Agreement:
    """Compare label images by their cells, whatever numbers these have."""
    first, second = written_movie(reference), written_movie(other)
    if (first.n_frames, first.shape_yx) != (second.n_frames, second.shape_yx):
        raise BadInput(
            f"{reference} and {other} have other numbers or sizes of frames, so no cells can be "
            "compared: see what the step writes"
        )
    movies = (movie.frames(0, movie.n_frames, channel=0) for movie in (first, second))
    found = summed(match_cells(*pair) for pair in zip(*movies, strict=True))
    return Agreement(
        same=found.close_precision >= LEAST_PRECISION,
        identical=same_bytes(reference.parent, other.parent, (reference.name,)),
        score=found.close_precision,
        measure=f"cells matched at IoU {AGREEMENT_IOU} among all cells of either output",
        tolerance=LEAST_PRECISION,
        details={"ap_iou50": found.average_precision, "cells_other": float(found.cells_other)},
    )


def _names(output: Path) -> set[str]:
    """Files of an output below it, but for hidden ones; of a single file the empty name."""
    if not output.is_dir():
        return {""}
    names = (path.relative_to(output) for path in output.rglob("*") if path.is_file())
    # What a program keeps of itself, such as times in `.snakemake`, differs from call to call.
    return {str(name) for name in names if not any(part[0] == "." for part in name.parts)}


def _difference(reference: Path, other: Path, tolerance: float) -> Difference:
    suffix = reference.suffix.lower()
    try:
        if suffix in {".tif", ".tiff"}:
            return _of_images(written_movie(reference), written_movie(other), tolerance)
        if suffix in {".csv", ".tsv", ".parquet"}:
            return _of_tables(read_table(reference), read_table(other), tolerance)
    except BadInput:
        # What cannot be read as its ending says is compared by its bytes.
        pass
    same = reference.read_bytes() == other.read_bytes()
    return Difference(int(same), 1)


def _of_images(reference: Movie, other: Movie, tolerance: float) -> Difference:
    shape = (reference.n_frames, reference.n_channels, *reference.shape_yx)
    if (other.n_frames, other.n_channels, *other.shape_yx) != shape:
        return Difference(0, int(np.prod(shape)))
    total = Difference(0, 0)
    pairs = zip(
        reference.frames(0, reference.n_frames), other.frames(0, other.n_frames), strict=True
    )
    for first, second in pairs:
        apart = np.abs(first.astype(np.float64) - second.astype(np.float64))
        total += Difference(int((apart <= tolerance).sum()), apart.size, float(apart.max()))
    return total


def _of_tables(reference: pl.DataFrame, other: pl.DataFrame, tolerance: float) -> Difference:
    """Compare tables row by row, in their order."""
    rows = max(reference.height, other.height)
    if reference.columns != other.columns or reference.height != other.height:
        return Difference(0, max(rows, 1))
    same, largest = np.ones(rows, dtype=bool), 0.0
    for name in reference.columns:
        first, second = reference[name], other[name]
        if first.dtype.is_numeric() and second.dtype.is_numeric():
            a, b = (column.cast(float).to_numpy() for column in (first, second))
            # Of equal infinities, too, the difference is not a number.
            equal = (a == b) | (np.isnan(a) & np.isnan(b))
            apart = np.abs(np.subtract(a, b, out=np.zeros_like(a), where=~equal))
            same &= apart <= tolerance
            # The record takes finite numbers alone.
            largest = max(largest, float(apart[np.isfinite(apart)].max(initial=0.0)))
        else:
            same &= first.cast(str).eq_missing(second.cast(str)).to_numpy()
    return Difference(int(same.sum()), rows, largest)
