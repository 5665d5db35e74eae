"""Tracks for other programs: a table, the Cell Tracking Challenge, and TrackMate's XML.

The first four columns of the table are those of napari's tracks. A track of the challenge is in
every frame from its first to its last: one that was lost between is written as several, each the
parent of the next. What TrackMate calls a track is a family: all cells that are linked, across
divisions too; cells without any link are spots without a track.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pyscale_stages.atomic import atomic_path, write_atomically
from pyscale_stages.errors import BadInput
from pyscale_stages.hashing import fingerprint_of
from pyscale_stages.movie import Movie
from pyscale_stages.track.lineage import Tracks, links_of, read_tracks, rows_of, unbroken
from pyscale_stages.truth.cells import renumbered
from pyscale_stages.windows import read_window

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

CSV_FILE = "tracks.csv"
TABLE_FILE = "res_track.txt"
MOST_TRACKS = np.iinfo(np.uint16).max
"""The challenge's masks have 16 bits."""


def export_csv(folder: Path, _labels: Movie | None, output: Path) -> None:
    """Write `tracks.csv`: one line for each cell of each frame, ordered by track, then frame."""
    tracks = whole_tracks(folder)
    found = tracks.detections
    parent_of = np.zeros(int(tracks.track_id.max(initial=0)) + 1, dtype=np.int64)
    parent_of[tracks.splits[:, 1]] = tracks.splits[:, 0]
    table = pl.DataFrame(
        {
            "track_id": tracks.track_id,
            "frame": found.frame,
            "y_px": found.y_px,
            "x_px": found.x_px,
            "label": found.label,
            "parent_id": parent_of[tracks.track_id],
        }
    )
    with atomic_path(output / CSV_FILE) as path:
        table.sort("track_id", "frame").write_csv(path)


def whole_tracks(folder: Path) -> Tracks:
    """Read the tracks of a whole movie."""
    window = read_window(folder, "track")
    if window.frames != (0, window.movie_frames):
        raise BadInput(
            f"{folder} holds the frames {window.frames[0]}:{window.frames[1]} of "
            f"{window.movie_frames}: merge all windows, and export the result"
        )
    return read_tracks(folder)


def export_ctc(folder: Path, labels: Movie | None, output: Path) -> None:
    """Write `mask000.tif`, `mask001.tif` … and `res_track.txt`."""
    import tifffile

    if labels is None:
        raise BadInput("the export ctc draws masks: give the tracked labels as --labels")
    if read_window(folder).inputs.get("labels") != fingerprint_of(labels.files):
        raise BadInput(f"{labels.path} was not tracked in {folder}: give the labels that were")
    if any(output.glob("mask*.tif")):
        raise BadInput(f"{output} already holds masks: name a new folder as --output")
    whole = whole_tracks(folder)
    tracks, parents = unbroken(whole)
    if len(parents) > MOST_TRACKS:
        raise BadInput(
            f"{folder} has {len(parents)} tracks, but masks of the challenge name at most "
            f"{MOST_TRACKS}: export --as trackmate or csv"
        )
    cells, n_frames = tracks.detections, read_window(folder).movie_frames
    digits = max(3, len(str(n_frames - 1)))
    for frame, image in enumerate(labels.frames(0, n_frames, channel=0)):
        here = cells.frame == frame
        labels_here, numbered = renumbered(image)
        if not np.array_equal(labels_here, cells.label[here]):
            raise BadInput(f"frame {frame} of {labels.path} has other cells than the tracked ones")
        ids = np.concatenate([[0], tracks.track_id[here]]).astype(np.uint16)
        with atomic_path(output / f"mask{frame:0{digits}d}.tif") as path:
            tifffile.imwrite(path, ids[numbered], compression="zlib")
    # Last, so that a folder with a table is complete.
    rows = rows_of(tracks, parents).tolist()
    write_atomically(output / TABLE_FILE, "".join(f"{t} {b} {e} {p}\n" for t, b, e, p in rows))


XML_FILE = "tracks.xml"
RADIUS_PX = 5.0
"""Shown by viewers only: the tracks are of centroids."""
FEATURES = {
    "SpotFeatures": (
        ("QUALITY", "Quality", "QUALITY", "false"),
        ("POSITION_X", "X", "POSITION", "false"),
        ("POSITION_Y", "Y", "POSITION", "false"),
        ("POSITION_Z", "Z", "POSITION", "false"),
        ("POSITION_T", "T", "TIME", "false"),
        ("FRAME", "Frame", "NONE", "true"),
        ("RADIUS", "Radius", "LENGTH", "false"),
        ("VISIBILITY", "Visibility", "NONE", "true"),
    ),
    "EdgeFeatures": (
        ("SPOT_SOURCE_ID", "Source spot ID", "NONE", "true"),
        ("SPOT_TARGET_ID", "Target spot ID", "NONE", "true"),
        ("LINK_COST", "Edge cost", "COST", "false"),
    ),
    "TrackFeatures": (("TRACK_ID", "Track ID", "NONE", "true"),),
}
"""Of elements of a kind: feature, name, dimension, and whether it is an integer."""


def export_trackmate(folder: Path, labels: Movie | None, output: Path) -> None:
    """Write `tracks.xml`, which opens the labels with the tracks where they are given."""
    from xml.etree.ElementTree import Element, ElementTree, SubElement

    n_frames = read_window(folder).movie_frames
    root = Element("TrackMate", version="7.14.0")
    _add_model(root, whole_tracks(folder), n_frames)
    _add_settings(root, n_frames, labels)
    SubElement(root, "GUIState", state="ConfigureViews")
    with atomic_path(output / XML_FILE) as file:
        ElementTree(root).write(file, "UTF-8", xml_declaration=True)


def _add_model(root: Element, tracks: Tracks, n_frames: int) -> None:
    """Add features, spots and tracks."""
    from xml.etree.ElementTree import SubElement

    model = SubElement(root, "Model", spatialunits="pixel", timeunits="frame")
    declared = SubElement(model, "FeatureDeclarations")
    for kind, features in FEATURES.items():
        of_kind = SubElement(declared, kind)
        for feature, name, dimension, is_int in features:
            named = {"feature": feature, "name": name, "shortname": name}
            SubElement(of_kind, "Feature", named, dimension=dimension, isint=is_int)
    cells = tracks.detections
    spots = SubElement(model, "AllSpots", nspots=str(len(cells)))
    first = np.searchsorted(cells.frame, np.arange(n_frames + 1))
    for frame in range(n_frames):
        of_frame = SubElement(spots, "SpotsInFrame", frame=str(frame))
        for spot in range(first[frame], first[frame + 1]):
            place = {"POSITION_X": f"{cells.x_px[spot]}", "POSITION_Y": f"{cells.y_px[spot]}"}
            place |= {"POSITION_Z": "0.0", "POSITION_T": f"{float(frame)}", "FRAME": f"{frame}"}
            named = {"ID": f"{spot}", "name": f"label {cells.label[spot]}", "QUALITY": "1.0"}
            SubElement(of_frame, "Spot", named | place, RADIUS=str(RADIUS_PX), VISIBILITY="1")
    all_tracks, kept = SubElement(model, "AllTracks"), SubElement(model, "FilteredTracks")
    for number, links in enumerate(_families(tracks)):
        track = SubElement(all_tracks, "Track", name=f"Track_{number}", TRACK_ID=f"{number}")
        for earlier, later in links:
            ends = {"SPOT_SOURCE_ID": f"{earlier}", "SPOT_TARGET_ID": f"{later}"}
            SubElement(track, "Edge", ends, LINK_COST="0.0")
        SubElement(kept, "TrackID", TRACK_ID=f"{number}")


def _add_settings(root: Element, n_frames: int, labels: Movie | None) -> None:
    """Add the image to open, and that spots and links were not made by TrackMate."""
    from xml.etree.ElementTree import SubElement

    path = labels.path.absolute() if labels is not None else Path()
    height, width = labels.shape_yx if labels is not None else (0, 0)
    settings = SubElement(root, "Settings")
    image = {"filename": path.name, "folder": f"{path.parent}/", "width": f"{width}"}
    image |= {"height": f"{height}", "nslices": "1", "nframes": f"{n_frames}"}
    sizes = ("pixelwidth", "pixelheight", "voxeldepth", "timeinterval")
    SubElement(settings, "ImageData", image | dict.fromkeys(sizes, "1.0"))
    last = {"xend": max(0, width - 1), "yend": max(0, height - 1), "zend": 0, "tend": n_frames - 1}
    starts = dict.fromkeys(("xstart", "ystart", "zstart", "tstart"), "0")
    SubElement(settings, "BasicSettings", starts | {name: str(at) for name, at in last.items()})
    detector = {"DETECTOR_NAME": "MANUAL_DETECTOR", "RADIUS": str(RADIUS_PX)}
    SubElement(settings, "DetectorSettings", detector)
    SubElement(settings, "InitialSpotFilter", feature="QUALITY", value="0.0", isabove="true")
    SubElement(settings, "SpotFilterCollection")
    SubElement(settings, "TrackerSettings", TRACKER_NAME="MANUAL_TRACKER")
    SubElement(settings, "TrackFilterCollection")


def _families(tracks: Tracks) -> list[list[list[int]]]:
    """Links of each family of cells that are linked, across divisions too."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = links_of(tracks)
    if not len(links):
        return []
    n_cells = len(tracks.detections)
    graph = coo_array((np.ones(len(links), dtype=bool), (links[:, 0], links[:, 1])), (n_cells,) * 2)
    family_of = connected_components(graph, directed=False)[1][links[:, 0]]
    order = np.argsort(family_of, kind="stable")
    families = np.split(links[order], np.flatnonzero(np.diff(family_of[order])) + 1)
    return [family.tolist() for family in families]
