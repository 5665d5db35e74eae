"""The one door to a user's own truth: what kind it is, and the tables that checks need of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import polars as pl

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import files_in
from pyscale_stages.parquet import read_table
from pyscale_stages.truth import labelimages, trackmate
from pyscale_stages.truth.cells import TrueCell, centroids, contacts_of
from pyscale_stages.truth.labelimages import SUFFIXES, TrueLabels, label_images

Kind = Literal["synthetic", "ctc", "images", "trackmate"]
What = Literal["labels", "tracks"]
CELL_COLUMNS = ("channel", "track_id", "frame", "y_px", "x_px")


def kind_of(path: Path) -> Kind:
    """Kind of a truth, by what is in the folder; one of no kind is refused."""
    try:
        if path.is_dir():
            if labelimages.is_ctc(path):
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
    if kind == "ctc" and labelimages.track_file(path) is not None:
        return {"labels", "tracks"}
    return {"labels"}


def refuse_unfit(path: Path, n_frames: int) -> None:
    """Raise where a truth is not that of a movie of so many frames."""
    if kind_of(path) != "trackmate":
        own_labels(path).refuse_unfit(n_frames)
        return
    last = max((cell.frame for cell in trackmate.trackmate_cells(path)), default=0)
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
    return labelimages.ctc_labels(path) if kind == "ctc" else label_images(path)


def own_tracks(path: Path) -> pl.DataFrame:
    """Table of tracks: that of a synthetic movie, or one like it."""
    kind = kind_of(path)
    if kind == "synthetic":
        return read_table(path / "tracks.parquet", (*CELL_COLUMNS, "parent_id"))
    if kind == "trackmate":
        return _table(trackmate.trackmate_cells(path))
    if kind != "ctc":
        raise BadInput(
            f"the truth {path} has labels but no tracks: name a folder of the Cell Tracking "
            "Challenge with man_track.txt, or an XML file of TrackMate"
        )
    labels, parent_of = labelimages.ctc_tracks(path)
    return _cells(labels, parent_of)


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
        TrueCell(frame, int(track), parent_of.get(int(track), 0), y_px, x_px)
        for frame, image in labels.frames(*_all(labels))
        for track, y_px, x_px in centroids(image).tolist()
    )


def _table(cells: Iterable[TrueCell]) -> pl.DataFrame:
    whole = dict.fromkeys(("frame", "track_id", "parent_id"), pl.Int32)
    schema = {**whole, "y_px": pl.Float64, "x_px": pl.Float64}
    table = pl.DataFrame(list(cells), schema=schema, orient="row")
    return table.with_columns(channel=pl.lit(0, pl.Int32))


def _all(labels: TrueLabels) -> tuple[int, int]:
    return 0, max(labels.images) + 1
