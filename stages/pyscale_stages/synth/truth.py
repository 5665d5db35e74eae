"""Exact truth of a synthetic movie: where cells are, whose they are, and whom they touch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from pyscale_stages.atomic import atomic_path
from pyscale_stages.parquet import write_table
from pyscale_stages.synth.cells import Cells
from pyscale_stages.synth.shapes import Labels
from pyscale_stages.truth.cells import centroids, contacts_of


class TruthTables:
    """Rows of the tables of one coordinate system, collected frame by frame."""

    def __init__(self) -> None:
        self._tracks: list[npt.NDArray[np.float64]] = []
        self._contacts: list[pl.DataFrame] = []
        self._noise: list[tuple[int, int, float]] = []

    def add(self, frame: int, cells: Cells, labels: Sequence[Labels]) -> None:
        """Add one frame: its cells, and their label image for each type."""
        parent_of = dict(zip(cells["track_id"].tolist(), cells["parent_id"].tolist(), strict=True))
        for channel, image in enumerate(labels):
            track, y_px, x_px = centroids(image).T
            parent = [parent_of[int(one)] for one in track]
            where = np.full_like(track, channel), np.full_like(track, frame)
            self._tracks.append(np.stack([where[0], track, parent, where[1], y_px, x_px], axis=1))
        self._contacts.append(contacts_of(frame, labels))

    def add_noise(
        self, frame: int, noisy: npt.NDArray[np.uint16], clean: npt.NDArray[np.uint16]
    ) -> None:
        """Add how far one frame, shape (C, Y, X), is from the same without noise."""
        for channel, images in enumerate(zip(noisy, clean, strict=True)):
            counted, true = (image.astype(np.float64) for image in images)
            self._noise.append((channel, frame, float(np.sqrt(np.mean((counted - true) ** 2)))))

    def tables(self, drift: npt.NDArray[np.float64]) -> dict[str, pl.DataFrame]:
        """All tables by name: a row for each cell, touching pair or channel of each frame."""
        noise = {"channel": pl.Int32, "frame": pl.Int32, "noise_rms_counts": pl.Float64}
        found = {
            "tracks": self._tracks_in_view(),
            "contacts": pl.concat(self._contacts, rechunk=True),
            "drift": pl.DataFrame(drift, ("dy_px", "dx_px"), orient="row").select(
                pl.int_range(pl.len(), dtype=pl.Int32).alias("frame"), "dy_px", "dx_px"
            ),
        }
        if self._noise:
            found["noise"] = pl.DataFrame(self._noise, noise, orient="row")
        return found

    def _tracks_in_view(self) -> pl.DataFrame:
        """Centroids; `parent_id` is 0 where nobody could see the mother just before."""
        whole = ("channel", "track_id", "parent_id", "frame")
        columns = [*whole, "y_px", "x_px"]
        table = pl.DataFrame(np.concatenate(self._tracks), columns, orient="row")
        table = table.with_columns(pl.col(whole).cast(pl.Int32))
        mothers = table.group_by(parent_id="track_id").agg(mother_last=pl.col("frame").max())
        born_before = pl.col("frame").min().over("track_id") - 1
        return (
            table.join(mothers, on="parent_id", how="left")
            .with_columns(
                parent_id=pl.when(pl.col("mother_last") == born_before)
                .then("parent_id")
                .otherwise(pl.lit(0, pl.Int32))
            )
            .select(columns)
            .sort("channel", "track_id", "frame")
        )


def write_tables(folder: Path, tables: TruthTables, drift: npt.NDArray[np.float64]) -> None:
    """Write tracks, contacts, drift and, where it was added, noise as Parquet into a folder."""
    for name, table in tables.tables(drift).items():
        with atomic_path(folder / f"{name}.parquet") as path:
            write_table(path, table)
