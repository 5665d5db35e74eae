"""Frames out as OME-Zarr 0.5: each window writes the chunks of its own frames."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.framefiles import ENDINGS
from pyscale_stages.layout import Pixels
from pyscale_stages.movie import Movie
from pyscale_stages.omezarr import METADATA, single_threaded
from pyscale_stages.reading import Reading

LEVEL = "0"
"""Name of the only resolution level."""
AXIS = {"t": "time", "c": "channel", "y": "space", "x": "space"}
"""Types of the axes, in their order."""


def written_in(folder: Path, stem: str) -> Path:
    """The output of a window or a merge, in whichever format it is."""
    zarr = folder / f"{stem}{ENDINGS['ome-zarr']}"
    return zarr if zarr.is_dir() else folder / f"{stem}{ENDINGS['ome-tiff']}"


def open_written(path: Path, frames: tuple[int, int]) -> Movie:
    """Open an output that holds these frames of a movie."""
    if not path.is_dir():
        return Movie.open(path)
    # A window's array has the length of the whole movie, and chunks of its own frames alone.
    return Movie.open(path, reading=Reading(frames=frames))


def write_chunks(
    path: Path,
    images: Iterable[Pixels],
    shape: tuple[int, ...],
    dtype: npt.DTypeLike,
    first: int = 0,
) -> None:
    """Write images (Y, X), channel by channel, from a frame on of a movie of a shape.

    Each image is a chunk and so a file, and the whole movie's description is written with any of
    its windows: who joins these writes nothing.
    """
    import zarr

    axes = "tyx" if len(shape) == 3 else "tcyx"
    scaled = {"type": "scale", "scale": [1.0] * len(shape)}
    described: dict[str, Any] = {
        "axes": [{"name": axis, "type": AXIS[axis]} for axis in axes],
        "datasets": [{"path": LEVEL, "coordinateTransformations": [scaled]}],
    }
    with single_threaded():
        group = zarr.open_group(str(path), mode="w", zarr_format=3)
        group.attrs["ome"] = {"version": "0.5", "multiscales": [described]}
        array = group.create_array(
            LEVEL,
            shape=shape,
            dtype=np.dtype(dtype),
            chunks=(*(1 for _ in shape[:-2]), *shape[-2:]),
            dimension_names=tuple(axes),
            # A frame without any cell is a frame, and no missing chunk.
            config={"write_empty_chunks": True},
        )
        channels = math.prod(shape[1:-2])
        for number, image in enumerate(images, first * channels):
            at: tuple[Any, ...] = (number // channels,)
            at += (number % channels,) if len(shape) == 4 else ()
            array[at] = np.asarray(image, dtype)


def link_chunks(whole: Path, windows: Sequence[Path]) -> None:
    """Give the chunks of windows a second name each, in one folder; no pixel is read."""
    for window in windows:
        for file in sorted(file for file in window.rglob("*") if file.is_file()):
            target = whole / file.relative_to(window)
            if target.exists() and file.name not in METADATA:
                raise BadInput(f"{file} was written by two windows: give each window once")
            if target.exists():
                _refuse_other(file, target)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(file, target)
            except OSError:
                # Filesystems without hard links, or a folder on another one.
                shutil.copyfile(file, target)


def _refuse_other(file: Path, known: Path) -> None:
    if file.read_bytes() != known.read_bytes():
        raise BadInput(
            f"{file} describes another movie than the windows before it: use windows of one movie"
        )
