"""The one door to a user's own truth: label images, tracks of TrackMate, a synthetic movie's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from pyscale_stages.errors import BadInput
from pyscale_stages.framefiles import TIFF_SUFFIXES, files_in
from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.parquet import read_table
from pyscale_stages.reading import Reading
from pyscale_stages.truth import trackmate
from pyscale_stages.truth.cells import centroids, contacts_of
from pyscale_stages.wording import plural

Kind = Literal["synthetic", "ctc", "images", "trackmate"]
What = Literal["labels", "tracks"]
CELL_COLUMNS = ("channel", "track_id", "frame", "y_px", "x_px")
SUFFIXES = (*TIFF_SUFFIXES, ".png")
TRACK_FILES = ("man_track.txt", "res_track.txt")
_OF_A_FRAME = re.compile(r"(man_track|man_seg|mask)(\d+)")


@dataclass(frozen=True)
class TrueLabels:
    """Label images of some frames of a movie, read one by one.

    `path`: what the user named. `images`: file and the image in it, by frame of the movie.
    `is_sparse`: whether frames without an image are frames that nobody labelled.
    """

    path: Path
    images: dict[int, tuple[Path, int]]
    is_sparse: bool = False

    def frames(self, start: int, stop: int) -> Iterator[tuple[int, Pixels]]:
        """Labels (Y, X) of each frame from start to stop that has them, with its number."""
        for frame in range(start, stop):
            if frame in self.images:
                file, index = self.images[frame]
                yield frame, _read(file, index)

    def refuse_unfit(self, n_frames: int) -> None:
        """Raise where these are not the labels of a movie of that length."""
        last = max(self.images)
        if last >= n_frames or not (self.is_sparse or len(self.images) == n_frames):
            raise BadInput(
                f"the truth {self.path} has {plural(len(self.images), 'label image')}, of frames "
                f"up to {last}, but the movie has {plural(n_frames, 'frame')}: "
                "name the truth of this movie"
            )


def kind_of(path: Path) -> Kind:
    """Kind of a truth, by what is in the folder; one of no kind is refused."""
    try:
        if path.is_dir():
            if _is_ctc(path):
                return "ctc"
            if any(path.glob("*.parquet")) or any(path.glob("labels_ch*.ome.tif")):
                return "synthetic"
            if files_in(path, SUFFIXES):
                return "images"
        elif path.is_file() and path.suffix.lower() in SUFFIXES:
            return "images"
        elif path.is_file() and path.suffix.lower() == trackmate.SUFFIX:
            return "trackmate"
    except OSError as error:
        raise BadInput(f"the truth {path} cannot be read ({error.strerror})") from error
    raise BadInput(
        f"{path} holds no truth that pyscale reads: name a folder of the Cell Tracking Challenge "
        "(man_track*.tif or mask*.tif with their .txt), label images (TIFF or PNG), an XML file "
        "of TrackMate, or the truth folder of a synthetic movie"
    )


def tells(path: Path) -> set[What]:
    """What can be judged by a truth of the user's own."""
    kind = kind_of(path)
    if kind == "trackmate":
        return {"tracks"}
    if kind == "ctc" and _track_file(path) is not None:
        return {"labels", "tracks"}
    return {"labels"}


def refuse_unfit(path: Path, n_frames: int) -> None:
    """Raise where a truth is not that of a movie of so many frames."""
    if kind_of(path) != "trackmate":
        own_labels(path).refuse_unfit(n_frames)
        return
    last = max((frame for frame, *_ in trackmate.cells_in(path)), default=0)
    if last >= n_frames:
        raise BadInput(
            f"the truth {path} has spots in frames up to {last}, but the movie has {n_frames} "
            "frames: name the truth of this movie"
        )


def own_labels(path: Path) -> TrueLabels:
    """True labels of a truth that is not a synthetic movie's."""
    kind = kind_of(path)
    if kind == "trackmate":
        raise BadInput(
            f"the truth {path} has tracks but no labels: name label images, or a folder of the "
            "Cell Tracking Challenge"
        )
    return _ctc_labels(path) if kind == "ctc" else _label_images(path)


def own_tracks(path: Path) -> pl.DataFrame:
    """Table of tracks: that of a synthetic movie, or one like it."""
    kind = kind_of(path)
    if kind == "synthetic":
        return read_table(path / "tracks.parquet", (*CELL_COLUMNS, "parent_id"))
    if kind == "trackmate":
        return _table(trackmate.cells_in(path))
    if kind == "images":
        raise BadInput(
            f"the truth {path} has labels but no tracks: name a folder of the Cell Tracking "
            "Challenge with man_track.txt, or an XML file of TrackMate"
        )
    return _cells(*_ctc_tracks(path))


def own_contacts(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Tables of the cells and of their contacts in each frame, or those of a synthetic movie."""
    if kind_of(path) == "synthetic":
        cells = read_table(path / "tracks.parquet", CELL_COLUMNS)
        return cells, read_table(path / "contacts.parquet", ("frame", "label_a", "label_b"))
    labels = own_labels(path)
    contacts = [contacts_of(frame, [image]) for frame, image in labels.frames(*_all(labels))]
    return _cells(labels, {}), pl.concat(contacts)


def _cells(labels: TrueLabels, parent_of: dict[int, int]) -> pl.DataFrame:
    return _table(
        (frame, int(track), parent_of.get(int(track), 0), y_px, x_px)
        for frame, image in labels.frames(*_all(labels))
        for track, y_px, x_px in centroids(image).tolist()
    )


def _table(cells: Iterable[trackmate.Cell]) -> pl.DataFrame:
    whole = dict.fromkeys(("frame", "track_id", "parent_id"), pl.Int32)
    schema = {**whole, "y_px": pl.Float64, "x_px": pl.Float64}
    table = pl.DataFrame(list(cells), schema, orient="row")
    return table.with_columns(channel=pl.lit(0, pl.Int32))


def _all(labels: TrueLabels) -> tuple[int, int]:
    return 0, max(labels.images) + 1


def _label_images(path: Path) -> TrueLabels:
    """Open a stack or an image, or a folder with a file for each frame in natural order."""
    if path.is_dir():
        files = files_in(path, SUFFIXES)
        return TrueLabels(path, {frame: (file, 0) for frame, file in enumerate(files)})
    n_frames = Movie.open(path, reading=_axes(path)).n_frames
    return TrueLabels(path, {frame: (path, frame) for frame in range(n_frames)})


def _axes(path: Path) -> Reading:
    """Axes of an image or stack; labels have no channels, so three dimensions are TYX."""
    import tifffile

    try:
        with tifffile.TiffFile(path) as tiff:
            return Reading(axes={2: "YX", 3: "TYX"}.get(len(tiff.series[0].shape)))
    except (OSError, ValueError, IndexError, tifffile.TiffFileError):
        # What is wrong with the file is said where it is opened.
        return Reading()


def _read(file: Path, index: int) -> Pixels:
    """One label image (Y, X) of whole numbers."""
    movie = Movie.open(file, reading=_axes(file))
    if movie.n_channels != 1:
        raise BadInput(
            f"{file} is a colour image: give labels, one whole number for each pixel and cell"
        )
    labels: Pixels = movie.read(index, index + 1, channel=0)[0]
    if labels.dtype.kind not in "iu" or (labels.dtype.kind == "i" and labels.min() < 0):
        raise BadInput(
            f"{file} holds {labels.dtype} values that are not labels: give whole numbers, 0 for "
            "the ground and one for each cell"
        )
    return labels


def _is_ctc(folder: Path) -> bool:
    """Whether a folder is one of a challenge's, or holds such folders."""
    return any((folder / name).exists() for name in ("TRA", "SEG", *TRACK_FILES)) or bool(
        _images(folder)
    )


def _ctc_labels(folder: Path) -> TrueLabels:
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


def _track_file(folder: Path) -> Path | None:
    """Table of the tracks of a folder, None where there is none."""
    places = (place / name for place in (folder, folder / "TRA") for name in TRACK_FILES)
    return next((file for file in places if file.is_file()), None)


def _ctc_tracks(folder: Path) -> tuple[TrueLabels, dict[int, int]]:
    """Masks whose labels are tracks, and the parent of each track that has one."""
    file = _track_file(folder)
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
    for file in files_in(folder, SUFFIXES):
        match = _OF_A_FRAME.fullmatch(file.stem)
        if match:
            found[int(match[2])] = file
    return found
