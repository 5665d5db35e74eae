"""Tracks for other programs: a table, the Cell Tracking Challenge, and TrackMate's XML.

The first four columns of the table are those of napari's tracks. A track of the challenge is in
every frame from its first to its last: one that was lost between is written as several, each the
parent of the next. What TrackMate calls a track is a family: all cells that are linked, across
divisions too; cells without any link are spots without a track.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from pyscale_stages.atomic import atomic_path, write_atomically
from pyscale_stages.errors import BadInput
from pyscale_stages.hashing import fingerprint_of
from pyscale_stages.movie import Movie
from pyscale_stages.track.lineage import Tracks, links_of, read_tracks, rows_of, unbroken
from pyscale_stages.truth.cells import renumbered
from pyscale_stages.windows import read_window

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
    tracks = whole_tracks(folder)
    with atomic_path(output / XML_FILE) as path, path.open("w", encoding="utf-8") as file:
        file.writelines(
            f"{line}\n" for line in lines(tracks, read_window(folder).movie_frames, labels)
        )


def lines(tracks: Tracks, n_frames: int, labels: Movie | None) -> Iterator[str]:
    """Yield the document line by line."""
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<TrackMate version="7.14.0">'
    yield '<Model spatialunits="pixel" timeunits="frame">'
    yield "<FeatureDeclarations>"
    for kind, features in FEATURES.items():
        yield f"<{kind}>"
        for feature, name, dimension, is_int in features:
            yield (
                f'<Feature feature="{feature}" name="{name}" shortname="{name}" '
                f'dimension="{dimension}" isint="{is_int}" />'
            )
        yield f"</{kind}>"
    yield "</FeatureDeclarations>"
    yield from _spots(tracks, n_frames)
    yield from _families(tracks)
    yield "</Model>"
    yield from _settings(n_frames, labels)
    yield '<GUIState state="ConfigureViews" />'
    yield "</TrackMate>"


def _spots(tracks: Tracks, n_frames: int) -> Iterator[str]:
    cells = tracks.detections
    first = np.searchsorted(cells.frame, np.arange(n_frames + 1))
    yield f'<AllSpots nspots="{len(cells)}">'
    for frame in range(n_frames):
        yield f'<SpotsInFrame frame="{frame}">'
        for spot in range(first[frame], first[frame + 1]):
            yield (
                f'<Spot ID="{spot}" name="label {cells.label[spot]}" QUALITY="1.0" '
                f'POSITION_X="{cells.x_px[spot]}" POSITION_Y="{cells.y_px[spot]}" '
                f'POSITION_Z="0.0" POSITION_T="{float(frame)}" FRAME="{frame}" '
                f'RADIUS="{RADIUS_PX}" VISIBILITY="1" />'
            )
        yield "</SpotsInFrame>"
    yield "</AllSpots>"


def _families(tracks: Tracks) -> Iterator[str]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = links_of(tracks)
    n_cells = len(tracks.detections)
    graph = coo_array((np.ones(len(links), dtype=bool), (links[:, 0], links[:, 1])), (n_cells,) * 2)
    family_of = connected_components(graph, directed=False)[1][links[:, 0]]
    order = np.argsort(family_of, kind="stable")
    families = np.split(links[order], np.flatnonzero(np.diff(family_of[order])) + 1)
    # Of no links, np.split makes one empty family.
    families = families if len(links) else []
    yield "<AllTracks>"
    for number, family in enumerate(families):
        yield f'<Track name="Track_{number}" TRACK_ID="{number}">'
        for earlier, later in family.tolist():
            yield f'<Edge SPOT_SOURCE_ID="{earlier}" SPOT_TARGET_ID="{later}" LINK_COST="0.0" />'
        yield "</Track>"
    yield "</AllTracks>"
    yield "<FilteredTracks>"
    for number in range(len(families)):
        yield f'<TrackID TRACK_ID="{number}" />'
    yield "</FilteredTracks>"


def _settings(n_frames: int, labels: Movie | None) -> Iterator[str]:
    """Yield the image to open, and that spots and links were not made by TrackMate."""
    # It loads a client of HTTP, which no task does without being asked to export.
    from xml.sax.saxutils import quoteattr

    path = labels.path.absolute() if labels is not None else Path()
    height, width = labels.shape_yx if labels is not None else (0, 0)
    yield "<Settings>"
    yield (
        f"<ImageData filename={quoteattr(path.name)} folder={quoteattr(f'{path.parent}/')} "
        f'width="{width}" height="{height}" nslices="1" nframes="{n_frames}" pixelwidth="1.0" '
        'pixelheight="1.0" voxeldepth="1.0" timeinterval="1.0" />'
    )
    yield (
        f'<BasicSettings xstart="0" xend="{max(0, width - 1)}" ystart="0" '
        f'yend="{max(0, height - 1)}" zstart="0" zend="0" tstart="0" tend="{n_frames - 1}" />'
    )
    yield f'<DetectorSettings DETECTOR_NAME="MANUAL_DETECTOR" RADIUS="{RADIUS_PX}" />'
    yield '<InitialSpotFilter feature="QUALITY" value="0.0" isabove="true" />'
    yield "<SpotFilterCollection />"
    yield '<TrackerSettings TRACKER_NAME="MANUAL_TRACKER" />'
    yield "<TrackFilterCollection />"
    yield "</Settings>"
