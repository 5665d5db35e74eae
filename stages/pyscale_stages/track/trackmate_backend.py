"""Linking with TrackMate.

TrackMate receives the same centroids as laptrack, as manual detections, and runs its sparse
LAP tracker on them: the pixels need not be copied into Java, and every spot is known to be
one cell of one frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.measured import Warned
from pyscale_stages.track import jvm
from pyscale_stages.track.distances import FEWEST_LINKS, Distances
from pyscale_stages.track.lineage import Detections, Ints, by_later
from pyscale_stages.track.params import TrackParams

SPOT_RADIUS_PX = 5.0
"""Shown by TrackMate's viewers only: the tracker uses centroids."""
DETECTOR_SETTINGS: dict[str, jvm.Setting] = {"RADIUS": SPOT_RADIUS_PX}
"""Of `ManualDetectorFactory`, by TrackMate's keys."""
CUTOFF_PERCENTILE = 1.0
"""By TrackMate's default, 0.9, the cost of leaving a gap open depends on how many others a window
has, so that windows decided otherwise than the whole movie; by the largest cost they agreed."""
MANY_LONE = 0.1
"""Share of cells without a link; where three in ten cells were lost, TrackMate left 0.17 so, and
laptrack 0.02."""
SPOT_QUALITY = 1.0
"""Above the initial filter, which keeps spots of quality 0 and more."""


def tracker_settings(params: TrackParams, distances: Distances) -> dict[str, jvm.Setting]:
    """Settings of `SparseLAPTrackerFactory`, by TrackMate's keys.

    Those of costs are TrackMate's defaults, but for the percentile. It refuses a map that lacks
    a key or has a value of another Java class than it expects, so the Python types here decide:
    float is Double, int is Integer, bool is Boolean.
    """
    nothing: dict[str, Any] = {}
    return {
        "LINKING_MAX_DISTANCE": distances.max_distance_px,
        "LINKING_FEATURE_PENALTIES": nothing,
        "ALLOW_GAP_CLOSING": params.gap_frames > 1,
        "GAP_CLOSING_MAX_DISTANCE": distances.gap_distance_px,
        "MAX_FRAME_GAP": params.gap_frames,
        "GAP_CLOSING_FEATURE_PENALTIES": nothing,
        "ALLOW_TRACK_SPLITTING": params.splitting,
        "SPLITTING_MAX_DISTANCE": distances.splitting_distance_px,
        "SPLITTING_FEATURE_PENALTIES": nothing,
        "ALLOW_TRACK_MERGING": False,
        "MERGING_MAX_DISTANCE": distances.max_distance_px,
        "MERGING_FEATURE_PENALTIES": nothing,
        "ALTERNATIVE_LINKING_COST_FACTOR": 1.05,
        "CUTOFF_PERCENTILE": CUTOFF_PERCENTILE,
        "BLOCKING_VALUE": float("inf"),
    }


def link(
    detections: Detections,
    start: int,
    stop: int,
    params: TrackParams,
    distances: Distances,
    *,
    threads: int,
) -> Ints:
    """Link the detections of a window, in the Java machine that `jvm.start` has started."""
    with jvm.errors_in_words():
        settings = _settings(stop - start, params, distances)
        return _tracked(detections, range(start, stop), settings, threads)


def _tracked(detections: Detections, frames: range, settings: Any, threads: int) -> Ints:
    model = _class("fiji.plugin.trackmate.Model")()
    model.setLogger(_class("fiji.plugin.trackmate.Logger").VOID_LOGGER)
    position_of = _add_spots(model, detections, frames)
    trackmate = _class("fiji.plugin.trackmate.TrackMate")(model, settings)
    trackmate.setNumThreads(threads)
    if not (trackmate.checkInput() and trackmate.process()):
        said = str(trackmate.getErrorMessage()).strip()
        # It catches the error of its own threads.
        if "OutOfMemoryError" in said:
            raise jvm.heap_ran_out()
        raise BadInput(f"TrackMate ended with {said!r}: check the distances and the labels")
    tracks = model.getTrackModel()
    edges = [
        tuple(
            position_of[int(end(edge).ID())] for end in (tracks.getEdgeSource, tracks.getEdgeTarget)
        )
        for edge in tracks.edgeSet()
    ]
    return links_of_edges(edges, detections)


def lone_cells(detections: Detections, links: Ints) -> Warned:
    """Count the cells that have no link, which TrackMate joins to no track across a gap."""
    linked = len(np.unique(links))
    # In one frame alone there is nothing to link.
    seen = len(detections) if len(np.unique(detections.frame)) > 1 else 0
    return Warned(
        code="lone-cells",
        text="have no link: TrackMate leaves out what it sees in one frame alone before it closes "
        'gaps and finds divisions, so choose backend = "laptrack" where cells are often lost',
        concerned=max(0, seen - linked),
        seen=seen,
        unit="cells",
        above=MANY_LONE,
        fewest=FEWEST_LINKS,
        doubts_result=True,
    )


def links_of_edges(edges: Sequence[tuple[int, ...]], detections: Detections) -> Ints:
    """Links in the direction of time, from TrackMate's edges, which have none."""
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    backwards = detections.frame[pairs[:, 0]] > detections.frame[pairs[:, 1]]
    pairs[backwards] = pairs[backwards][:, ::-1]
    return by_later(pairs)


def _add_spots(model: Any, detections: Detections, frames: range) -> dict[int, int]:
    """Give the model one spot per detection; returns the position of each spot's detection."""
    spot_class = _class("fiji.plugin.trackmate.Spot")
    array_list = _class("java.util.ArrayList")
    spots = model.getSpots()
    position_of = {}
    for frame in frames:
        of_frame = array_list()
        for place in np.flatnonzero(detections.frame == frame):
            spot = spot_class(
                float(detections.x_px[place]),
                float(detections.y_px[place]),
                0.0,
                SPOT_RADIUS_PX,
                SPOT_QUALITY,
            )
            position_of[int(spot.ID())] = int(place)
            of_frame.add(spot)
        # An empty frame is put too: TrackMate links each frame it knows to the next it knows.
        spots.put(frame - frames.start, of_frame)
    return position_of


def _settings(n_frames: int, params: TrackParams, distances: Distances) -> Any:
    """Java settings for centroids that are known: the image is a placeholder."""
    image = _class("ij.ImagePlus")("labels", _class("ij.process.ByteProcessor")(1, 1))
    settings = _class("fiji.plugin.trackmate.Settings")(image)
    settings.nframes = n_frames
    settings.tend = n_frames - 1
    settings.detectorFactory = _class("fiji.plugin.trackmate.detection.ManualDetectorFactory")()
    settings.detectorSettings = jvm.java_map(DETECTOR_SETTINGS)
    tracker = "fiji.plugin.trackmate.tracking.jaqaman.SparseLAPTrackerFactory"
    settings.trackerFactory = _class(tracker)()
    settings.trackerSettings = jvm.java_map(tracker_settings(params, distances))
    return settings


def _class(name: str) -> Any:
    from scyjava import jimport

    try:
        return jimport(name)
    except TypeError as error:
        raise MissingPart(
            f"Java does not find {name}, which the jars of {jvm.KNOWN_TRACKMATE} and their "
            f"dependencies have: {jvm.OTHER_JARS}"
        ) from error
