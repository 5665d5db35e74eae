"""The stage `track`: cells linked over time."""

from __future__ import annotations

import os

from pyscale_stages.contract import Resources, Slot, Stage
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.task import Task
from pyscale_stages.track import jvm, laptrack_backend, trackmate_backend
from pyscale_stages.track.agreement import check
from pyscale_stages.track.detections import (
    Detections,
    detect,
    joined,
    refuse_other_than_labels,
)
from pyscale_stages.track.lineage import tracks_of
from pyscale_stages.track.params import TrackParams
from pyscale_stages.track.stitch import stitch, without_forks
from pyscale_stages.track.tables import TRACKS_FILE, write_tracks
from pyscale_stages.windows import ordered_windows


def run(task: Task) -> None:
    """Track the task's window and the context around it.

    The tables hold the context too, because its links show `merge` where the window's tracks
    go on; `window.json` names the window itself.
    """
    params = task.params
    assert isinstance(params, TrackParams)
    with task.span("read"):
        labels = task.movie("labels")
        refuse_other_than_labels(labels)
        start, stop = task.window(labels)
    first = max(0, start - params.context_frames)
    end = min(labels.n_frames, stop + params.context_frames)
    detections = _detect(task, labels, first, end)
    cells = int(detections.within(start, stop).sum())
    if cells == 0:
        _report_empty(task, labels, start, stop)
    _load(task, params)
    with task.span("compute"):
        if params.backend == "laptrack":
            links = laptrack_backend.link(detections, first, end, params)
        else:
            links = trackmate_backend.link(detections, first, end, params, task.spec.threads)
        tracks = tracks_of(detections, links)
    with task.span("write"):
        write_tracks(task, tracks)
        task.write_window((start, stop), labels.n_frames)
    task.count(frames=stop - start, objects=cells)


def merge(task: Task) -> None:
    """Join the tracks of all windows.

    Raises
    ------
    BadInput
        If the windows do not fit together, or none has a cell.
    """
    windows = ordered_windows(task)
    detections, links = stitch(windows)
    if len(detections) == 0:
        raise BadInput(
            "none of the windows has a cell, so there is nothing to track: "
            "look at the labels, or segment the movie with other parameters"
        )
    if not TrackParams.model_validate(windows[0][1].params).splitting:
        single = without_forks(links)
        if len(single) < len(links):
            task.warn(
                f"{len(links) - len(single)} of {len(links)} links were left out, because "
                "windows gave a lost cell two returns: raise overlap_frames to let them agree"
            )
        links = single
    write_tracks(task, tracks_of(detections, links))
    task.write_whole(windows[0][1])
    task.count(frames=windows[0][1].movie_frames, objects=len(detections))


def _detect(task: Task, labels: Movie, first: int, end: int) -> Detections:
    """Centroids of every frame, with a bounded number of frames in memory."""
    found = []
    runs = list(labels.blocks(first, end, channel=0))
    for low, high in task.progress(runs, len(runs), "reading labels"):
        with task.span("read"):
            frames = labels.read(low, high, channel=0)
        with task.span("compute"):
            found += [detect(frame, low + index) for index, frame in enumerate(frames)]
    return joined(found)


def _report_empty(task: Task, labels: Movie, start: int, stop: int) -> None:
    if (start, stop) == (0, labels.n_frames):
        raise BadInput(
            f"{labels.path} has no label in any frame, so there is nothing to track: "
            "look at the labels, or segment the movie with other parameters"
        )
    task.warn(f"frames {start}:{stop} of {labels.path.name} have no label")


def _load(task: Task, params: TrackParams) -> None:
    """Import the tracker's libraries; start Java where it is TrackMate."""
    jars = jvm.jars_folder(params.trackmate_jars, os.environ)
    with task.span("import"):
        import polars  # noqa: F401 - imported here, so that writing is only writing

        if params.backend == "laptrack":
            import laptrack  # noqa: F401 - as above
        else:
            heap_mib = jvm.fitting_heap_mib(params.trackmate_heap_mib, os.environ)
            jvm.configure(from_maven=jars is None, threads=task.spec.threads, heap_mib=heap_mib)
    if params.backend == "trackmate":
        with task.span("model_load"):
            jvm.start(jars)


def image_of(params: TrackParams) -> str:
    """Name of the image that has the tracker."""
    return "track" if params.backend == "laptrack" else "track_trackmate"


STAGE = Stage(
    name="track",
    summary="cells linked over time from their labels, with laptrack or TrackMate",
    params=TrackParams,
    inputs=(Slot("labels", "label movie: OME-TIFF (TYX), or a folder of TIFF label frames"),),
    output=TRACKS_FILE,
    packages=("laptrack", "scipy", "networkx", "pandas", "pyimagej", "jpype1"),
    determinism=(
        "same bytes for the same labels and versions; with laptrack, windows that overlap by "
        "gap_frames or more give the whole movie's links, but for equal costs and for chains "
        "of competing gaps longer than the overlap; TrackMate's gap costs depend on all cells "
        "of a window, so its merged links must be checked"
    ),
    run=run,
    merge=merge,
    check=check,
    resources=Resources(cpus=1, memory_gib=4.0),
    extra="track",
    image=image_of,
    surroundings=jvm.surroundings,
)
