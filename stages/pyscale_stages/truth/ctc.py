"""True labels and tracks in the layout of the Cell Tracking Challenge."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.truth.labelimages import TrueLabels, image_files

TRACK_FILES = ("man_track.txt", "res_track.txt")
_OF_A_FRAME = re.compile(r"(man_track|man_seg|mask)(\d+)")


def is_ctc(folder: Path) -> bool:
    """Whether a folder is one of a challenge's, or holds such folders."""
    return any((folder / name).exists() for name in ("TRA", "SEG", *TRACK_FILES)) or bool(
        _images(folder)
    )


def ctc_labels(folder: Path) -> TrueLabels:
    """True segmentation: `SEG` where there is one, which may lack frames, else the track masks."""
    for inside in (folder / "SEG", folder, folder / "TRA"):
        images = _images(inside) if inside.is_dir() else {}
        if images:
            first = next(iter(images.values())).name
            return TrueLabels(
                folder,
                {frame: (file, 0) for frame, file in images.items()},
                is_sparse=first.startswith("man_seg"),
            )
    raise BadInput(
        f"{folder} holds no man_seg*.tif, man_track*.tif or mask*.tif: name the folder that does"
    )


def track_file(folder: Path) -> Path | None:
    """Table of the tracks of a folder, None where there is none."""
    places = (place / name for place in (folder, folder / "TRA") for name in TRACK_FILES)
    return next((file for file in places if file.is_file()), None)


def ctc_tracks(folder: Path) -> tuple[TrueLabels, dict[int, int]]:
    """Masks whose labels are tracks, and the parent of each track that has one."""
    file = track_file(folder)
    if file is None:
        raise BadInput(
            f"{folder} holds no {' or '.join(TRACK_FILES)}, so its tracks are unknown: name the "
            "folder that has it"
        )
    images = _images(file.parent)
    if not images:
        raise BadInput(f"{file.parent} holds no label images beside {file.name}: copy it again")
    labels = TrueLabels(folder, {frame: (image, 0) for frame, image in images.items()})
    return labels, {int(track): int(parent) for track, _, _, parent in _rows(file) if parent}


def _rows(file: Path) -> npt.NDArray[np.int64]:
    """Track, first frame, last frame and parent of each track."""
    try:
        text = file.read_text(encoding="utf-8")
        rows = np.array([[int(word) for word in line.split()] for line in text.splitlines()])
        return rows.reshape(-1, 4).astype(np.int64)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{file} is not a table of tracks: each line must hold four whole numbers, the track, "
            "its first and last frame, and its parent or 0"
        ) from error


def _images(folder: Path) -> dict[int, Path]:
    """Label images of a folder by the frame in their names."""
    found = {}
    for file in image_files(folder):
        match = _OF_A_FRAME.fullmatch(file.stem)
        if match:
            found[int(match[2])] = file
    return found
