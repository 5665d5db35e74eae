"""Write a synthetic movie with its exact truth; the public face of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from pyscale_stages.atomic import atomic_path
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.parquet import write_table
from pyscale_stages.synth.atomic_folder import Kind, make_whole
from pyscale_stages.synth.camera import Microscope
from pyscale_stages.synth.cells import Cells, Labels, cover, label_image
from pyscale_stages.synth.params import SynthParams, drift_path, random_stream
from pyscale_stages.synth.population import simulate
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


Coordinates = Literal["camera", "specimen"]
__all__ = ["SynthParams", "render_examples", "write_synthetic_movie"]
MOVIE_FILE = "movie.ome.tif"
PARAMS_FILE = "synth.json"
KIND = Kind("a synthetic movie", PARAMS_FILE)
TRUTH_FOLDER = "truth"
COORDINATES: tuple[Coordinates, ...] = ("camera", "specimen")
Progress = Callable[[int, int], None]
Counts = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class RenderedFrame:
    """One frame: its cells, what the camera sees (C, Y, X), and which pixels are whose.

    `cells`: in specimen coordinates, also those out of view. `clean`: the image without noise, in
    the coordinates that have it. `labels`: an image for each channel.
    """

    cells: Cells
    image: Counts
    clean: dict[Coordinates, Counts]
    labels: dict[Coordinates, list[Labels]]


def render_frames(
    params: SynthParams, coordinates: Sequence[Coordinates] = COORDINATES
) -> Iterator[RenderedFrame]:
    """Render frame after frame; labels in the coordinates asked for, "camera" among them."""
    microscope = Microscope(params)
    drift = drift_path(params)
    shape = params.shape_yx
    for index, cells in enumerate(simulate(params)):
        rng = random_stream(params.seed, "noise", index)
        image, clean = np.empty((2, params.cell_types, *shape), np.uint16)
        labels: dict[Coordinates, list[Labels]] = {name: [] for name in coordinates}
        for channel in range(params.cell_types):
            own = cells[cells["cell_type"] == channel]
            seen = cover(own, drift[index], shape)
            labels["camera"].append(label_image(own, seen, shape))
            image[channel], clean[channel] = microscope.picture(
                own, seen, labels["camera"][-1], rng
            )
            if "specimen" in coordinates:
                still = cover(own, np.zeros(2), shape)
                labels["specimen"].append(label_image(own, still, shape))
        yield RenderedFrame(cells, image, {"camera": clean}, labels)


def render_examples(params: SynthParams) -> Iterator[tuple[Counts, Counts]]:
    """Render frames in memory, for training and tests: the same as the movie on disk."""
    for frame in render_frames(params, ("camera",)):
        yield frame.image, np.stack(frame.labels["camera"])


def write_synthetic_movie(
    folder: Path, params: SynthParams, progress: Progress | None = None
) -> Path:
    """Write a movie and its exact truth; the folder appears whole or not at all.

    The same parameters give the same bytes, with the same libraries and kind of processor. While it
    is made, about its uncompressed size lies beside it.
    """

    def write(partial: Path) -> None:
        write_frames(partial, render_frames(params), drift_path(params), progress)

    return make_whole(folder, params, KIND, write)


def write_frames(
    folder: Path,
    frames: Iterable[RenderedFrame],
    drift: npt.NDArray[np.float64],
    progress: Progress | None,
) -> None:
    """Write frames, and their truth in both systems of coordinates."""
    tables = {name: TruthTables() for name in COORDINATES}
    with frame_stacks(folder) as append:
        for index, frame in enumerate(frames):
            append(MOVIE_FILE, frame.image if len(frame.image) > 1 else frame.image[0])
            for name in COORDINATES:
                for what, images in (("labels", frame.labels), ("clean", frame.clean)):
                    for channel, image in enumerate(images.get(name, ())):
                        append(f"{TRUTH_FOLDER}/{name}/{what}_ch{channel}.ome.tif", image)
                tables[name].add(index, frame.cells, frame.labels[name])
            tables["camera"].add_noise(index, frame.image, frame.clean["camera"])
            if progress is not None:
                progress(index + 1, len(drift))
    for name in COORDINATES:
        write_tables(folder / TRUTH_FOLDER / name, tables[name], drift)


@contextmanager
def frame_stacks(folder: Path) -> Iterator[Callable[[str, Counts], None]]:
    """Take frames (Y, X) or (C, Y, X) for several files; each is an OME-TIFF at a good end."""
    # A compressed OME-TIFF is written in one go, but the files are rendered side by side.
    stacks: dict[str, tuple[BinaryIO, tuple[int, ...]]] = {}
    with TemporaryDirectory(dir=folder) as raw, ExitStack() as closing:

        def append(name: str, image: Counts) -> None:
            if name not in stacks:
                # Written, not mapped: a full disk is then an error and not a fatal signal.
                file = closing.enter_context(Path(raw, str(len(stacks))).open("wb"))
                stacks[name] = file, image.shape
            stacks[name][0].write(np.ascontiguousarray(image).data)

        yield append
        for name, (file, shape) in stacks.items():
            file.close()
            stack = np.memmap(file.name, np.uint16, "r").reshape(-1, *shape)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(folder / name) as path:
                write_movie(path, stack, "TYX" if stack.ndim == 3 else "TCYX")
            Path(file.name).unlink()
