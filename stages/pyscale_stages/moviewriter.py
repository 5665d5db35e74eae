"""Frames out: OME-TIFF whose bytes its pixels decide, or OME-Zarr 0.5, a chunk a frame."""

from __future__ import annotations

import math
import os
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, starmap
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

Strips = list[tuple[int, int]]
"""Offset and length of each image in its file, in bytes."""

CLASSIC_TIFF_BYTES = 2**32 - 2**25
"""What a TIFF with 32-bit offsets can hold, less room for its pages' headers."""
ADOBE_DEFLATE = 8
"""The number by which TIFF knows the compression of `write_pages`."""
NIL_UUID = "urn:uuid:00000000-0000-0000-0000-000000000000"
"""What tifffile would otherwise draw at random, so that no two files have the same bytes."""


class PackedFrames:
    """Images kept compressed, about a hundredth of the size of labels, until they are written.

    The same frames give the same bytes, whether one task added them or `merge` did.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._pages: list[bytes] = []
        self._shape_yx: tuple[int, ...] = ()
        self._dtype = np.dtype(dtype)

    def add(self, image: Pixels) -> None:
        """Add the next frame, shape (Y, X)."""
        self._shape_yx = image.shape
        self._pages.append(zlib.compress(np.ascontiguousarray(image, self._dtype).data))

    def widen(self, dtype: npt.DTypeLike) -> None:
        """Keep frames as a larger type from here on, and those that were added already, too."""
        narrow, self._dtype = self._dtype, np.dtype(dtype)
        wider = (
            np.frombuffer(zlib.decompress(page), narrow).astype(self._dtype) for page in self._pages
        )
        self._pages = [zlib.compress(page.data) for page in wider]

    def images(self) -> Iterator[Pixels]:
        """Yield the frames that were added."""
        for page in self._pages:
            yield np.frombuffer(zlib.decompress(page), self._dtype).reshape(self._shape_yx)

    @property
    def shape_yx(self) -> tuple[int, ...]:
        """Height and width of the frames that were added."""
        return self._shape_yx

    def write(self, path: Path) -> None:
        """Write all frames."""
        write_pages(path, self._pages, (len(self._pages), *self._shape_yx), self._dtype)


def write_movie(path: Path, frames: Pixels, axes: str) -> None:
    """Write frames or labels that are in memory, of the axes "TYX" or "TCYX", as `.ome.tif`."""
    if frames.ndim != len(axes):
        raise ValueError(f"frames of shape {frames.shape} have no axes {axes}")
    write_pages(path, frames.reshape(-1, *frames.shape[-2:]), frames.shape, frames.dtype)


def write_pages(
    path: Path,
    pages: Iterable[Pixels] | Iterable[bytes],
    shape: tuple[int, ...],
    dtype: npt.DTypeLike,
) -> None:
    """Write images (Y, X), or their bytes compressed by zlib, as pages of an `.ome.tif`."""
    import tifffile

    each: Any = iter(pages)
    tifffile.imwrite(
        path,
        each,
        shape=shape,
        dtype=np.dtype(dtype),
        rowsperstrip=shape[-2],
        ome=True,
        # Decided by the shape alone, so that equal pixels stay equal bytes: how well they
        # compress is not known before they are written.
        bigtiff=math.prod(shape) * np.dtype(dtype).itemsize > CLASSIC_TIFF_BYTES,
        photometric="minisblack",
        compression="zlib",
        # One thread: the stage's thread count is a measured parameter.
        maxworkers=1,
        metadata={
            "axes": "TYX" if len(shape) == 3 else "TCYX",
            "UUID": NIL_UUID,
            "Creator": "pyscale",
        },
    )


def stored_pages(movies: Sequence[Movie]) -> Iterator[bytes] | None:
    """All images of movies of one kind, one after the other, compressed as they lie in their files.

    None where a file is not laid out as `write_pages` lays it out, so that its images have to be
    decoded. That decoding would find damage inside an image: this finds only that one is cut short.
    """
    if len({(one.n_channels, one.shape_yx, one.dtype) for one in movies}) > 1:
        return None
    found: list[tuple[Path, Strips]] = []
    for movie in movies:
        strips = _strips(movie)
        if strips is None:
            return None
        found.append((movie.path, strips))
    return chain.from_iterable(starmap(_copied, found))


def write_joined(path: Path, movies: Sequence[Movie], stack: PackedFrames | None = None) -> None:
    """Write the frames of movies of one kind one after the other, copied as they lie on the disk.

    Where a file is laid out otherwise they are decoded, and packed by `stack` where one is given.
    """
    first, pages = movies[0], stored_pages(movies)
    decoded = chain.from_iterable(movie.frames(0, movie.n_frames) for movie in movies)
    if pages is None and stack is not None:
        for frame in decoded:
            stack.add(frame[0])
        stack.write(path)
        return
    shape = first.stack_shape(sum(movie.n_frames for movie in movies))
    write_pages(path, pages or chain.from_iterable(decoded), shape, first.dtype)


def _strips(movie: Movie) -> Strips | None:
    """Find where each image of a movie begins, and of how many bytes it is."""
    import tifffile

    if not movie.path.is_file() or movie.layout.has_samples or movie.reading.given:
        return None
    with tifffile.TiffFile(movie.path) as tiff:
        series = tiff.series[movie.contents.image]
        pages = [page for page in series.pages if page is not None]
        # What pages have alike, all but the place of their bytes.
        first = series.keyframe
        as_written = (
            (first.compression, first.predictor, first.fillorder) == (ADOBE_DEFLATE, 1, 1)
            and (tiff.byteorder == "<") == (sys.byteorder == "little")
            and not first.is_tiled
            and len(pages) == movie.n_frames * movie.n_channels
            and all(len(page.dataoffsets) == 1 for page in pages)
        )
        if not as_written:
            return None
        return [(page.dataoffsets[0], page.databytecounts[0]) for page in pages]


def _copied(path: Path, strips: Strips) -> Iterator[bytes]:
    with path.open("rb") as file:
        for offset, n_bytes in strips:
            file.seek(offset)
            strip = file.read(n_bytes)
            if len(strip) < n_bytes:
                raise BadInput(f"{path} is damaged or truncated: copy it again")
            yield strip


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
    for place, file in joined_files(whole, windows):
        # The whole movie's description lies in each.
        if file.name not in METADATA or file.read_bytes() != place.read_bytes():
            raise BadInput(
                f"{file} was written by two windows, or is of another movie: give each window of "
                "one movie once"
            )


def joined_files(whole: Path, folders: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Link the files of folders into one; yield each name that is taken, and the file for it."""
    for folder in folders:
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            place = whole / file.relative_to(folder)
            if place.exists():
                yield place, file
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(file, place)
            except OSError:
                # Filesystems without hard links, or a folder on another one.
                shutil.copyfile(file, place)
