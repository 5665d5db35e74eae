"""The one door to a user's own truth: what kind it is, and the tables that checks need of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import polars as pl

from pyscale_stages.errors import BadInput, said_by
from pyscale_stages.framefiles import files_in
from pyscale_stages.parquet import read_table
from pyscale_stages.truth import labelimages
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
        elif path.is_file() and path.suffix.lower() == TRACKMATE_SUFFIX:
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
    last = max((cell.frame for cell in trackmate_cells(path)), default=0)
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
        return _table(trackmate_cells(path))
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


TRACKMATE_SUFFIX = ".xml"


def trackmate_cells(file: Path) -> list[TrueCell]:
    """Visible spots, linked by tracks that passed TrackMate's filters and end where they divide."""
    try:
        root = ElementTree.parse(file).getroot()
        spots = {
            int(spot.attrib["ID"]): spot.attrib
            for spot in root.iterfind("Model/AllSpots/SpotsInFrame/Spot")
            if spot.get("VISIBILITY") != "0"
        }
        kept = {track.attrib["TRACK_ID"] for track in root.iterfind("Model/FilteredTracks/TrackID")}
        links = [
            sorted(
                (int(edge.attrib["SPOT_SOURCE_ID"]), int(edge.attrib["SPOT_TARGET_ID"])),
                key=lambda spot: int(spots[spot]["FRAME"]),
            )
            for track in root.iterfind("Model/AllTracks/Track")
            if track.attrib["TRACK_ID"] in kept
            for edge in track.iterfind("Edge")
        ]
        width_px, height_px = _pixel_size(root)
        places = {
            spot: (
                int(spots[spot]["FRAME"]),
                float(spots[spot]["POSITION_Y"]) / height_px,
                float(spots[spot]["POSITION_X"]) / width_px,
            )
            for spot in spots
        }
    except (OSError, ElementTree.ParseError, KeyError, ValueError, ZeroDivisionError) as error:
        raise BadInput(
            f"{file} is not a readable XML file of TrackMate{said_by(error)}: save it again by "
            "TrackMate's button Save"
        ) from error
    return _numbered(file, places, links)


def _pixel_size(root: ElementTree.Element) -> tuple[float, float]:
    """Width and height of a pixel in the file's unit."""
    image = root.find("Settings/ImageData")
    if image is not None:
        return float(image.attrib["pixelwidth"]), float(image.attrib["pixelheight"])
    unit = root.find("Model[@spatialunits]")
    if unit is None or unit.attrib["spatialunits"] not in {"pixel", "pixels"}:
        raise ValueError("it gives no pixel size")
    return 1.0, 1.0


def _numbered(
    file: Path, places: dict[int, tuple[int, float, float]], links: list[list[int]]
) -> list[TrueCell]:
    """Give each spot its track, in the order of frames."""
    before: dict[int, int] = {}
    successors = dict.fromkeys(places, 0)
    for earlier, later in links:
        if later in before:
            raise BadInput(
                f"tracks merge in {file} at the spot {later}, but cells only divide: remove one "
                "of the two links"
            )
        before[later] = earlier
        successors[earlier] += 1
    track_of: dict[int, int] = {}
    parent_of: dict[int, int] = {}
    for spot in sorted(places, key=lambda spot: (places[spot][0], spot)):
        mother = before.get(spot)
        if mother is not None and successors[mother] == 1:
            track_of[spot] = track_of[mother]
        else:
            track_of[spot] = len(parent_of) + 1
            parent_of[track_of[spot]] = 0 if mother is None else track_of[mother]
    return [
        TrueCell(frame, track_of[spot], parent_of[track_of[spot]], y_px, x_px)
        for spot, (frame, y_px, x_px) in places.items()
    ]
