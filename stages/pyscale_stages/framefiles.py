"""Files of a folder that are the frames of a movie, what their names tell, and all of an input."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from math import prod
from pathlib import Path
from typing import Literal

from pyscale_stages.errors import BadInput
from pyscale_stages.omezarr import files_at, is_zarr
from pyscale_stages.reading import Reading

OutputFormat = Literal["ome-tiff", "ome-zarr"]
ENDINGS: dict[str, str] = {"ome-tiff": ".ome.tif", "ome-zarr": ".ome.zarr"}
"""What names of outputs end with."""
TIFF_SUFFIXES = (".tif", ".tiff")
PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg")
"""Of pictures, which are frames where no TIFF is: previews often lie beside those."""
OF_A_PART = {"c", "ch", "channel", "w", "z", "s", "p", "pos", "position", "xy", "series", "f"}
"""Letters before numbers by which microscopes count other things than frames."""
MOST_NAMED = 3


def natural_order(path: Path) -> list[tuple[bool, int, str]]:
    """Sort key under which frame 10 comes after frame 9, and the case of letters does not count."""
    parts = re.split(r"(\d+)", path.name.lower())
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def files_in(folder: Path, suffixes: tuple[str, ...] = ("",)) -> tuple[Path, ...]:
    """Files of a folder that end so, in the natural order of their names."""
    ending = (file for file in folder.iterdir() if file.name.lower().endswith(suffixes))
    # Hidden files are what an operating system or a broken writer left.
    seen = (file for file in ending if file.name[0] != "." and file.is_file())
    return tuple(sorted(seen, key=natural_order))


def frame_files(folder: Path, pattern: str | None = None) -> tuple[Path, ...]:
    """Files that are read as frames: the TIFFs or, where there are none, the pictures."""
    for suffixes in (TIFF_SUFFIXES, PICTURE_SUFFIXES):
        files = files_in(folder, suffixes)
        if pattern is not None:
            files = tuple(file for file in files if fnmatchcase(file.name, pattern))
        if files:
            return files
    return ()


def refuse_several_stems(folder: Path, files: Sequence[Path]) -> None:
    """Raise where names tell of more than one movie, as of channels in files of their own."""
    stems: dict[str, Path] = {}
    for file in files:
        stems.setdefault(re.sub(r"\d+", "#", file.stem.lower()), file)
    other = list(stems.values())[1:2]
    if not other and (place := _place_beside_frames(files)) is not None:
        first = _numbers(files[0])[place]
        other = [file for file in files if _numbers(file)[place] != first]
    if other:
        raise BadInput(
            f"the names in {folder} are those of more than one movie, like {files[0].name} and "
            f"{other[0].name}: choose the files of one by --pattern, as in --pattern 'img_*.tif', "
            "or all by --pattern '*'"
        )


def gaps_in(files: Sequence[Path]) -> tuple[int, ...]:
    """Numbers that are missing between the first and the last, where names count one thing."""
    varying = _varying(files)
    if len(varying) != 1:
        return ()
    ((_, numbers),) = varying.items()
    return tuple(sorted({*range(min(numbers), max(numbers))} - {*numbers}))


def in_words(gaps: Sequence[int]) -> str:
    """Name the first missing numbers, and say how many more there are."""
    more = f" and {len(gaps) - MOST_NAMED} more" if len(gaps) > MOST_NAMED else ""
    return f"{', '.join(map(str, gaps[:MOST_NAMED]))}{more}"


def _numbers(file: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", file.stem)]


def _varying(files: Sequence[Path]) -> dict[int, list[int]]:
    """Numbers of the names by their place in these, where they are not all the same."""
    of_places = map(list, zip(*map(_numbers, files), strict=True))
    return {at: numbers for at, numbers in enumerate(of_places) if len(set(numbers)) > 1}


def _place_beside_frames(files: Sequence[Path]) -> int | None:
    """Place of a number that counts something else than frames; None where there is none."""
    varying = _varying(files)
    if len(varying) < 2:
        return None
    letters = re.findall(r"([a-z]*)[^a-z\d]*\d+", files[0].stem.lower())
    tagged = [at for at in varying if letters[at] in OF_A_PART]
    # Every combination is there: times of day, which have several numbers too, seldom do that.
    if tagged or prod(len(set(numbers)) for numbers in varying.values()) == len(files):
        return max(tagged or varying)
    return None


OF_MICROSCOPES = {
    ".nd2": "Nikon ND2",
    ".czi": "Zeiss CZI",
    ".lif": "Leica LIF",
    ".ims": "Imaris IMS",
    ".oib": "Olympus OIB",
    ".oif": "Olympus OIF",
    ".vsi": "Olympus VSI",
    ".dv": "DeltaVision DV",
    ".zvi": "Zeiss ZVI",
    ".stk": "MetaMorph STK",
}
OF_CAMERAS = {".mp4": "MP4", ".avi": "AVI", ".mov": "QuickTime", ".mkv": "Matroska", ".gif": "GIF"}


def how_to_convert(path: Path) -> str | None:
    """What a file is and what converts it, in a sentence; None for all other formats."""
    # An OIF is a small file with a folder beside it, and all others are one file.
    named = shlex.quote(str(path))
    if name := OF_MICROSCOPES.get(path.suffix.lower()):
        out = shlex.quote(f"{path.with_suffix('')}.ome.tif")
        return f"{path} is {name}: convert it by bfconvert -bigtiff -series 0 {named} {out}"
    if name := OF_CAMERAS.get(path.suffix.lower()):
        frames = "-pix_fmt gray frames/%06d.png"
        return f"{path} is {name} video: convert it by mkdir frames && ffmpeg -i {named} {frames}"
    return None


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
