"""The files of an input: those that are read, evicted and counted."""

from __future__ import annotations

from pathlib import Path

from pyscale_stages.framefiles import frame_files
from pyscale_stages.omezarr import files_at, is_zarr
from pyscale_stages.reading import Reading

ZARR = ".zarr"
"""Ending of the name of an image that is a folder."""


def files_of(path: Path, reading: Reading | None = None) -> list[Path]:
    """The file, or the files of the folder with those of images that are folders, and tiles.

    `reading`: of a movie, what of it is read; None where every file of a folder may be.
    """
    if not path.is_dir():
        return [path, *_tiles_of(path)]
    if path.suffix == ZARR or is_zarr(path):
        return [*files_at(path, reading.level if reading is not None else None)]
    if reading is not None and (frames := frame_files(path, reading.pattern)):
        return sorted(frames)
    entries = list(path.iterdir())
    files = {entry for entry in entries if entry.is_file()}
    tiles = {tile for file in files for tile in _tiles_of(file)}
    chunks = {file for entry in entries if entry.suffix == ZARR for file in files_at(entry, None)}
    return sorted(files | tiles | chunks)


def _tiles_of(file: Path) -> list[Path]:
    return [*files_at(file.with_suffix(""), None)] if file.suffix == ".mrxs" else []
