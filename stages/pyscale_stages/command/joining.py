"""What one worker gets, of frames, files or tiles, and how the outputs of all are joined."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from pyscale_stages.atomic import write_atomically
from pyscale_stages.command.params import CommandParams
from pyscale_stages.errors import BadInput
from pyscale_stages.framefiles import files_in
from pyscale_stages.movie import AS_IT_IS, Movie, Pixels
from pyscale_stages.moviewriter import write_joined, write_pages
from pyscale_stages.task import Task

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
    shape = movie.stack_shape(window[1] - window[0])
    write_pages(path, _pages(movie, *window), shape, movie.dtype)
    return path


def cut_tile(movie: Movie, tile: Tile, path: Path) -> Path:
    """Write the region of a tile, of all frames and channels, to a TIFF; return its path."""
    pages = (page[tile.outer] for page in _pages(movie, 0, movie.n_frames))
    shape = (*movie.stack_shape(movie.n_frames)[:-2], *_size(tile.outer))
    write_pages(path, pages, shape, movie.dtype)
    return path


@dataclass(frozen=True)
class Share:
    """A worker's part of the whole, and the values of each call of the command."""

    window: tuple[int, int]
    """First frame, file or tile and end (excluded)."""
    whole: int
    """Frames, files or tiles of all workers together."""
    calls: tuple[Mapping[str, str], ...]
    """What placeholders stand for, a call each."""
    reads: tuple[Path, ...] = ()
    """What the calls read, beside the inputs of the task."""
    shape_yx: tuple[int, int] | None = None
    """Size in pixels of the image whose tiles are shared; None where they are none."""


@contextmanager
def share_of(task: Task[CommandParams]) -> Iterator[Share]:
    """Give a worker its part, with files that are removed when the work is done."""
    path = task.input("input")
    if path is None:
        raise BadInput("a step needs what it reads: give --input input=PATH")
    with TemporaryDirectory(prefix="pyscale-step-") as scratch:
        split = {"files": _of_files, "tiles": _of_tiles}.get(task.params.split, _of_frames)
        # Cutting is measured: whoever gives each worker a file of its own has to cut it, too.
        with task.span("read"):
            share = split(task, path.absolute(), Path(scratch))
        yield share


def files_of(folder: Path) -> tuple[Path, ...]:
    """Files of a folder in the natural order of their names, but for hidden ones."""
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a folder: a step that shares files needs a folder of them")
    found = files_in(folder)
    if not found:
        raise BadInput(f"the folder {folder} holds no file: name one that does")
    return found


def _part(task: Task[CommandParams], of_what: str, count: int, path: Path) -> tuple[int, int]:
    start, stop = task.spec.frames or (0, count)
    if not 0 <= start < stop <= count:
        raise BadInput(f"{of_what} {start}:{stop} are not among the {count} of {path}")
    return start, stop


def _of_files(task: Task[CommandParams], folder: Path, scratch: Path) -> Share:
    files = files_of(folder)
    start, stop = _part(task, "files", len(files), folder)
    task.know_files("input", files)
    own = files[start:stop]
    values = {"input": str(folder)}
    if task.params.a_call_per_file:
        calls = tuple(values | {"file": str(file), "name": file.stem} for file in own)
        return Share((start, stop), len(files), calls)
    listed = scratch / "files.txt"
    listed.write_text("".join(f"{file}\n" for file in own), encoding="utf-8")
    return Share((start, stop), len(files), (values | {"files": str(listed)},), (listed,))


def _of_tiles(task: Task[CommandParams], path: Path, scratch: Path) -> Share:
    params = task.params
    movie = Movie.open(path, reading=task.spec.reading or AS_IT_IS)
    task.know_files("input", movie.files, chosen=movie.reading.given)
    tiles = tiles_of(movie.shape_yx, params.tile_px, params.margin_px)
    start, stop = _part(task, "tiles", len(tiles), path)
    folder = task.output / TILES_FOLDER
    calls, reads = [], []
    for tile in tiles[start:stop]:
        source = path
        if params.is_cut:
            source = cut_tile(movie, tile, scratch / tile.name(".ome.tif"))
            reads.append(source)
        output = folder.absolute() / tile.name(Path(params.output_name).suffix)
        (output if params.writes_folder else folder).mkdir(parents=True, exist_ok=True)
        calls.append({**tile.values, "input": str(source), "output": str(output)})
    return Share((start, stop), len(tiles), tuple(calls), tuple(reads), movie.shape_yx)


def _of_frames(task: Task[CommandParams], path: Path, scratch: Path) -> Share:
    whole = task.spec.movie_frames
    reads: tuple[Path, ...] = ()
    if task.params.is_cut or whole is None or task.spec.frames is None:
        movie = task.movie("input")
        whole = movie.n_frames
        start, stop = task.window(movie)
        if task.params.is_cut:
            path = cut_frames(movie, (start, stop), scratch / "window.ome.tif")
            reads = (path,)
    else:
        # It may be a table or a folder that another step wrote of these frames.
        start, stop = task.spec.frames
        if not path.exists():
            raise BadInput(f"{path} is not there: name what the step reads")
        files = files_of(path) if path.is_dir() else (path,)
        task.know_files("input", files)
    numbers = {"first": start, "stop": stop, "frames": stop - start}
    values = {"input": str(path), **{name: str(number) for name, number in numbers.items()}}
    return Share((start, stop), whole, (values,), reads)


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
                f"{movie.path} cannot be part of one image: its (frames, channels, height, width) "
                f"are {(movie.n_frames, movie.n_channels, *movie.shape_yx)}, of a region that has "
                f"{(*kind, *_size(tile.outer))}"
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

    write_pages(whole, pages(), (*first.stack_shape(first.n_frames)[:-2], *size), dtype)


def _pages(movie: Movie, start: int, stop: int) -> Iterator[Pixels]:
    for frame in movie.frames(start, stop):
        yield from frame.reshape(-1, *movie.shape_yx)


def _size(region: Region) -> tuple[int, int]:
    rows, columns = region
    return rows.stop - rows.start, columns.stop - columns.start


WindowTable = tuple[Path, int, "pl.DataFrame"]
"""File of a window's table, the window's first frame, and the table."""
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


def counted_anew(tables: Sequence[WindowTable]) -> str | None:
    """Name the column of frames that begins anew in each window, where there is one."""
    for _, first, table in tables:
        for column in table.columns:
            is_counted = column.lower() == "frame" and table[column].dtype.is_integer()
            if is_counted and not (table[column] >= first).all():
                return column
    return None


def appended(tables: Sequence[WindowTable], offset: str | None) -> pl.DataFrame:
    """Rows of all windows below each other; the column `offset` counts from 0 in each of them."""
    import polars as pl

    # A window without objects has no value by which the type of a column could be told.
    kept = [one for one in tables if not one[2].is_empty()] or tables[:1]
    moved = []
    for path, first, table in kept:
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
