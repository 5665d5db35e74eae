"""Parts of a movie that workers share, cut out of it, and their outputs joined: images, tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pyscale_stages.atomic import write_atomically
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.moviewriter import write_joined, write_pages
from pyscale_stages.wording import plural

if TYPE_CHECKING:
    import polars as pl


TILES_FOLDER = "tiles"
"""Folder of the outputs of single tiles, beside the whole one."""

SHAPE_FILE = "tiled.json"

Region = tuple[slice, slice]
"""Rows and columns."""


@dataclass(frozen=True)
class Tile:
    """One tile of a grid, in pixels of the whole image."""

    number: int
    """From 0, row by row."""
    inner: Region
    """What it adds to the whole: these regions touch and never overlap."""
    outer: Region
    """The same with the margin, as far as the image goes: what is read."""

    @property
    def values(self) -> dict[str, str]:
        """What placeholders stand for."""
        rows, columns = self.outer
        ends = {"y0": rows.start, "y1": rows.stop, "x0": columns.start, "x1": columns.stop}
        return {name: str(at) for name, at in {**ends, "tile": self.number}.items()}

    def name(self, suffix: str) -> str:
        """Name of what a command writes of it."""
        return f"{self.number:06d}{suffix}"


def tiles_of(shape_yx: tuple[int, int], tile_px: int, margin_px: int = 0) -> tuple[Tile, ...]:
    """Cut an image into squares of a length; those at its ends are smaller."""
    rows, columns = (
        [
            (
                slice(at, min(at + tile_px, size)),
                slice(max(0, at - margin_px), min(at + tile_px + margin_px, size)),
            )
            for at in range(0, size, tile_px)
        ]
        for size in shape_yx
    )
    return tuple(
        Tile(number, (y, x), (outer_y, outer_x))
        for number, ((y, outer_y), (x, outer_x)) in enumerate(product(rows, columns))
    )


def keep_shape(folder: Path, shape_yx: tuple[int, int]) -> None:
    """Say beside the outputs of tiles how large the whole image is."""
    write_atomically(folder / SHAPE_FILE, json.dumps(shape_yx))


def kept_shape(folder: Path) -> tuple[int, int]:
    """Read what `keep_shape` said."""
    height, width = json.loads((folder / SHAPE_FILE).read_bytes())
    return height, width


def cut_frames(movie: Movie, window: tuple[int, int], path: Path) -> Path:
    """Write the frames of a window to a TIFF, in bounded memory; return its path."""
    shape = _shape(movie, window[1] - window[0], movie.shape_yx)
    write_pages(path, _pages(movie, *window), shape, movie.dtype)
    return path


def cut_tile(movie: Movie, tile: Tile, path: Path) -> Path:
    """Write the region of a tile, of all frames and channels, to a TIFF; return its path."""
    pages = (page[tile.outer] for page in _pages(movie, 0, movie.n_frames))
    write_pages(path, pages, _shape(movie, movie.n_frames, _size(tile.outer)), movie.dtype)
    return path


def join_frames(movies: Sequence[Movie], whole: Path) -> None:
    """Write all frames of movies of one shape, one after the other."""
    first = movies[0]
    kind = (first.n_channels, first.shape_yx, first.dtype)
    for movie in movies:
        if (movie.n_channels, movie.shape_yx, movie.dtype) != kind:
            raise BadInput(
                f"{movie.path} and {first.path} cannot be one movie: their channels, size or type "
                "of pixels differ"
            )
    write_joined(whole, movies)


def join_tiles(movies: Sequence[Movie], tiles: Sequence[Tile], whole: Path) -> None:
    """Put the outputs of all tiles, without their margins, into one image of all frames."""
    first = movies[0]
    kind = (first.n_frames, first.n_channels)
    for movie, tile in zip(movies, tiles, strict=True):
        if movie.shape_yx != _size(tile.outer) or (movie.n_frames, movie.n_channels) != kind:
            raise BadInput(
                f"{movie.path} cannot be part of one image: it has {movie.n_frames} frames of "
                f"{plural(movie.n_channels, 'channel')} with {_by(movie.shape_yx)} px, and its "
                f"region {_by(_size(tile.outer))} px"
            )
    size = (tiles[-1].inner[0].stop, tiles[-1].inner[1].stop)
    # A tile of few labels may have been written with fewer bits than others.
    dtype = reduce(np.promote_types, (movie.dtype for movie in movies))

    def pages() -> Iterator[Pixels]:
        for frame in range(first.n_frames):
            page = np.empty((first.n_channels, *size), dtype)
            for movie, tile in zip(movies, tiles, strict=True):
                inside = tuple(
                    slice(inner.start - outer.start, inner.stop - outer.start)
                    for inner, outer in zip(tile.inner, tile.outer, strict=True)
                )
                # A movie keeps its file open, and there may be more tiles than files may be open.
                found = replace(movie).read(frame, frame + 1).reshape(-1, *movie.shape_yx)
                page[:, *tile.inner] = found[:, *inside]
            yield from page

    write_pages(whole, pages(), _shape(first, first.n_frames, size), dtype)


def _pages(movie: Movie, start: int, stop: int) -> Iterator[Pixels]:
    for frame in movie.frames(start, stop):
        yield from frame.reshape(-1, *movie.shape_yx)


def _shape(like: Movie, frames: int, size: tuple[int, int]) -> tuple[int, ...]:
    channels = (like.n_channels,) if like.n_channels > 1 else ()
    return (frames, *channels, *size)


def _size(region: Region) -> tuple[int, int]:
    rows, columns = region
    return rows.stop - rows.start, columns.stop - columns.start


def _by(size: tuple[int, int]) -> str:
    return " x ".join(map(str, size))


SEPARATORS = {".csv": ",", ".tsv": "\t"}


def read_table(path: Path) -> pl.DataFrame:
    """Read a table that a step wrote."""
    import polars as pl

    separator = SEPARATORS.get(path.suffix.lower())
    try:
        if separator is None:
            return pl.read_parquet(path)
        # A number may stand first in the last row alone.
        return pl.read_csv(path, separator=separator, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError) as error:
        said = str(error).partition("\n")[0]
        raise BadInput(f"{path} is no table of its ending ({said}): see what wrote it") from error


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table by the ending of its name."""
    separator = SEPARATORS.get(path.suffix.lower())
    if separator is None:
        table.write_parquet(path)
    else:
        table.write_csv(path, separator=separator)


def appended(parts: Sequence[tuple[Path, tuple[int, int]]], offset: str | None) -> pl.DataFrame:
    """Rows of all windows below each other; the column `offset` counts from 0 in each of them."""
    import polars as pl

    read = [(path, window[0], read_table(path)) for path, window in parts]
    # A window without objects has no value by which the type of a column could be told.
    read = [part for part in read if not part[2].is_empty()] or read[:1]
    moved = []
    for path, first, table in read:
        if offset is None or table.is_empty():
            moved.append(table)
        elif offset in table.columns and table[offset].dtype.is_numeric():
            moved.append(table.with_columns(pl.col(offset) + first))
        else:
            raise BadInput(
                f"{path} has no column {offset!r} of numbers: set offset to one that it has"
            )
    try:
        return pl.concat(moved, how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        said = str(error).partition("\n")[0]
        raise BadInput(
            f"the tables of windows have other columns than each other ({said}): write the same "
            "ones in each"
        ) from error
