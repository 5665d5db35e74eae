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

from pyscale_stages.atomic import atomic_path
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.synth.camera import Microscope
from pyscale_stages.synth.cells import Cells
from pyscale_stages.synth.drift import drift_path, random_stream
from pyscale_stages.synth.params import SynthParams
from pyscale_stages.synth.population import simulate
from pyscale_stages.synth.shapes import Labels, cover, label_image
from pyscale_stages.synth.truth import TruthTables, write_tables
from pyscale_stages.synth.wholefolder import Kind, make_whole

Coordinates = Literal["camera", "specimen"]
__all__ = ["SynthParams", "render_examples", "write_synthetic_movie"]
MOVIE_FILE = "movie.ome.tif"
PARAMS_FILE = "synth.json"
KIND = Kind("a synthetic movie", "is not a synthetic movie", PARAMS_FILE)
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
