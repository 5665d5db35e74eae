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
from pyscale_stages.truth.cells import centroids, count_contacts


class TruthTables:
    """Rows of the tables of one coordinate system, collected frame by frame."""

    def __init__(self) -> None:
        self._tracks: list[npt.NDArray[np.float64]] = []
        self._contacts: list[npt.NDArray[np.int64]] = []
        self._noise: list[tuple[int, int, float]] = []

    def add(self, frame: int, cells: Cells, labels: Sequence[Labels]) -> None:
        """Add one frame: its cells, and their label image for each type."""
        parent_of = dict(zip(cells["track_id"].tolist(), cells["parent_id"].tolist(), strict=True))
        for channel, image in enumerate(labels):
            found = centroids(image)
            parents = [parent_of[int(track)] for track in found[:, 0]]
            rows = np.empty((len(found), 6))
            rows[:, 0], rows[:, 3] = channel, frame
            rows[:, 1], rows[:, 2] = found[:, 0], parents
            rows[:, 4:] = found[:, 1:]
            self._tracks.append(rows)
        contacts = count_contacts(labels)
        self._contacts.append(np.insert(contacts, 0, frame, axis=1))

    def add_noise(
        self, frame: int, noisy: npt.NDArray[np.uint16], clean: npt.NDArray[np.uint16]
    ) -> None:
        """Add how far one frame, shape (C, Y, X), is from the same without noise."""
        for channel, images in enumerate(zip(noisy, clean, strict=True)):
            counted, true = (image.astype(np.float64) for image in images)
            self._noise.append((channel, frame, float(np.sqrt(np.mean((counted - true) ** 2)))))

    def tracks(self) -> pl.DataFrame:
        """Table `tracks`: one row for each cell in view in each frame, its pixels' centroid.

        `parent_id` is 0 where the mother is not in view just before: a division that nobody can see
        is none.
        """
        rows = np.concatenate(self._tracks)
        table = pl.DataFrame(
            {
                "channel": rows[:, 0].astype(np.int32),
                "track_id": rows[:, 1].astype(np.int32),
                "parent_id": rows[:, 2].astype(np.int32),
                "frame": rows[:, 3].astype(np.int32),
                "y_px": rows[:, 4],
                "x_px": rows[:, 5],
            }
        )
        seen = table.group_by("track_id").agg(
            pl.col("frame").min().alias("first"), pl.col("frame").max().alias("last")
        )
        mothers = seen.select(parent_id="track_id", mother_last="last")
        return (
            table.join(seen.select("track_id", "first"), on="track_id", how="left")
            .join(mothers, on="parent_id", how="left")
            .with_columns(
                parent_id=pl.when(pl.col("mother_last") == pl.col("first") - 1)
                .then("parent_id")
                .otherwise(pl.lit(0, pl.Int32))
            )
            .select("channel", "track_id", "parent_id", "frame", "y_px", "x_px")
            .sort("channel", "track_id", "frame")
        )

    def contacts(self) -> pl.DataFrame:
        """Table `contacts`: one row for each pair of cells that touch in a frame."""
        rows = np.concatenate(self._contacts).astype(np.int32)
        names = ("frame", "label_a", "label_b", "contact_px")
        return pl.DataFrame({name: rows[:, i] for i, name in enumerate(names)})

    def noise(self) -> pl.DataFrame:
        """Table `noise`: root mean square noise of each channel of each frame."""
        schema = {"channel": pl.Int32, "frame": pl.Int32, "noise_rms_counts": pl.Float64}
        return pl.DataFrame(self._noise, schema=schema, orient="row")


def write_tables(folder: Path, tables: TruthTables, drift: npt.NDArray[np.float64]) -> None:
    """Write tracks, contacts, drift and, where it was added, noise as Parquet into a folder."""
    drift_table = pl.DataFrame(
        {"frame": np.arange(len(drift), dtype=np.int32), "dy_px": drift[:, 0], "dx_px": drift[:, 1]}
    )
    found = {"tracks": tables.tracks(), "contacts": tables.contacts(), "drift": drift_table}
    noise = tables.noise()
    if len(noise):
        found["noise"] = noise
    for name, table in found.items():
        with atomic_path(folder / f"{name}.parquet") as path:
            write_table(path, table)
