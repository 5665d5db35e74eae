"""Tracks as TrackMate's XML, which Fiji and other programs open.

What TrackMate calls a track is a family: all cells that are linked, across divisions too. Cells
without any link are spots without a track.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from pyscale_stages.atomic import atomic_path
from pyscale_stages.movie import Movie
from pyscale_stages.track.exports import whole_tracks
from pyscale_stages.track.lineage import Tracks, links_of
from pyscale_stages.windows import read_window

XML_FILE = "tracks.xml"
RADIUS_PX = 5.0
"""Shown by viewers only: the tracks are of centroids."""
SPOT_FEATURES = (
    ("QUALITY", "Quality", "QUALITY", False),
    ("POSITION_X", "X", "POSITION", False),
    ("POSITION_Y", "Y", "POSITION", False),
    ("POSITION_Z", "Z", "POSITION", False),
    ("POSITION_T", "T", "TIME", False),
    ("FRAME", "Frame", "NONE", True),
    ("RADIUS", "Radius", "LENGTH", False),
    ("VISIBILITY", "Visibility", "NONE", True),
)
EDGE_FEATURES = (
    ("SPOT_SOURCE_ID", "Source spot ID", "NONE", True),
    ("SPOT_TARGET_ID", "Target spot ID", "NONE", True),
    ("LINK_COST", "Edge cost", "COST", False),
)
TRACK_FEATURES = (("TRACK_ID", "Track ID", "NONE", True),)


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
    yield from _declared("SpotFeatures", SPOT_FEATURES)
    yield from _declared("EdgeFeatures", EDGE_FEATURES)
    yield from _declared("TrackFeatures", TRACK_FEATURES)
    yield "</FeatureDeclarations>"
    yield from _spots(tracks, n_frames)
    yield from _families(tracks)
    yield "</Model>"
    yield from _settings(n_frames, labels)
    yield '<GUIState state="ConfigureViews" />'
    yield "</TrackMate>"


def _declared(kind: str, features: tuple[tuple[str, str, str, bool], ...]) -> Iterator[str]:
    yield f"<{kind}>"
    for feature, name, dimension, is_int in features:
        yield (
            f'<Feature feature="{feature}" name="{name}" shortname="{name}" '
            f'dimension="{dimension}" isint="{str(is_int).lower()}" />'
        )
    yield f"</{kind}>"


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
    families = [family for family in families if len(family)]
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
