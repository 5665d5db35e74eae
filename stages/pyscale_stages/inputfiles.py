"""The files of an input: those that are read, evicted and counted."""

from __future__ import annotations

from pathlib import Path

ZARR = ".zarr"
"""Ending of the name of an image that is a folder."""


def files_of(path: Path) -> list[Path]:
    """The file, or the files of the folder with those of images that are folders, and tiles."""
    if not path.is_dir():
        return [path, *_tiles_of(path)]
    if path.suffix == ZARR:
        return _all_below(path)
    entries = list(path.iterdir())
    files = {entry for entry in entries if entry.is_file()}
    tiles = {tile for file in files for tile in _tiles_of(file)}
    chunks = {file for entry in entries if entry.suffix == ZARR for file in _all_below(entry)}
    return sorted(files | tiles | chunks)


def _tiles_of(file: Path) -> list[Path]:
    return _all_below(file.with_suffix("")) if file.suffix == ".mrxs" else []


def _all_below(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())
