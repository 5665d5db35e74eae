"""Compares the output of a step at one N with that at the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pyscale_stages.command.run import params_of
from pyscale_stages.command.tables import read_table
from pyscale_stages.contract import Agreement
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.task import Task
from pyscale_stages.windows import folders_to_check, same_bytes

if TYPE_CHECKING:
    import polars as pl


@dataclass
class Difference:
    """How much of two files is the same, and how far the rest is apart."""

    same: int
    of: int
    largest: float = 0.0

    def __add__(self, more: Difference) -> Difference:
        return Difference(self.same + more.same, self.of + more.of, max(self.largest, more.largest))


def check(task: Task) -> Agreement:
    """Compare pixels, rows or bytes, by the ending of each file's name.

    Raises
    ------
    BadInput
        If one of the folders is no output of the step.
    """
    params = params_of(task)
    reference, other = (folder / params.output_name for folder in folders_to_check(task))
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


def _names(output: Path) -> set[str]:
    """Files of an output below it; of a single file the empty name."""
    if not output.is_dir():
        return {""}
    return {str(path.relative_to(output)) for path in output.rglob("*") if path.is_file()}


def _difference(reference: Path, other: Path, tolerance: float) -> Difference:
    suffix = reference.suffix.lower()
    try:
        if suffix in {".tif", ".tiff"}:
            return _of_images(Movie.open(reference), Movie.open(other), tolerance)
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
            apart = np.where(np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b))
            same &= apart <= tolerance
            largest = max(largest, float(np.nanmax(apart, initial=0.0)))
        else:
            same &= first.cast(str).eq_missing(second.cast(str)).to_numpy()
    return Difference(int(same.sum()), rows, largest)
