"""The stage `track`: cells linked over time."""

from __future__ import annotations

import os

from pyscale_stages.contract import Slot, Stage
from pyscale_stages.declaration import Image
from pyscale_stages.errors import BadInput
from pyscale_stages.libraries import OF_EXTRA, SCIPY, ZARR
from pyscale_stages.measured import Warned
from pyscale_stages.movie import Movie
from pyscale_stages.task import Task
from pyscale_stages.track import jvm, linking, trackmate_backend
from pyscale_stages.track.agreement import check
from pyscale_stages.track.distances import (
    copy_distances,
    distances_of,
    link_warnings,
    write_distances,
)
from pyscale_stages.track.exports import export_csv, export_ctc, export_trackmate
from pyscale_stages.track.jvm import NEEDS
from pyscale_stages.track.lineage import (
    TRACKS_FILE,
    Detections,
    detect,
    joined,
    stitch,
    tracks_of,
    without_forks,
    write_tracks,
)
from pyscale_stages.track.overlap_backend import OverlapLinker
from pyscale_stages.track.params import TrackParams, method
from pyscale_stages.windows import ordered_windows


def run(task: Task[TrackParams]) -> None:
    """Track the window and the context around it, whose links show `merge` where tracks go on."""
    params = task.params
    with task.span("read"):
        labels = task.label_movie("labels")
        start, stop = task.window(labels)
    first = max(0, start - params.context_frames)
    end = min(labels.n_frames, stop + params.context_frames)
    # Cells are linked by overlap while their labels are read, without distances.
    by_overlap = params.backend == "overlap"
    overlaps = OverlapLinker(params)
    detections = _detect(task, labels, (first, end), overlaps if by_overlap else None)
    cells = int(detections.within(start, stop).sum())
    if cells == 0:
        task.say_empty([labels], (start, stop))
    distances = None
    if len(detections) and not by_overlap:
        with task.span("read"):
            distances = distances_of(labels, params)
    if params.backend == "laptrack" and len(detections):
        linking.refuse_beyond_memory(detections)
    _load(task)
    with task.span("compute"):
        if distances is None:
            links = overlaps.links
        elif params.backend == "laptrack":
            links = linking.link_by_laptrack(detections, first, end, params, distances)
        elif params.backend == "sparse":
            links = linking.link_sparsely(detections, params, distances)
        else:
            links = trackmate_backend.link(
                detections, first, end, params, distances, threads=task.spec.threads
            )
            task.versions |= jvm.versions()
        tracks = tracks_of(detections, links)
    for warning in link_warnings(detections, links, distances):
        task.warn_of(warning)
    if params.backend == "trackmate":
        task.warn_of(trackmate_backend.lone_cells(detections, links))
    task.count(frames=stop - start, objects=cells)
    with task.span("write"):
        write_tracks(task, tracks)
        if distances is not None:
            write_distances(task, distances)
        task.write_window((start, stop), labels.n_frames)


def merge(task: Task[TrackParams]) -> None:
    """Join the tracks of all windows."""
    params = task.params
    windows = ordered_windows(task)
    joined_windows = stitch(windows)
    if len(joined_windows.detections) == 0:
        raise BadInput(
            "no window has a cell, so there is nothing to track: check the labels, or segment "
            "the movie with other parameters"
        )
    task.warn_of(
        Warned(
            code="windows-disagree",
            text="were decided by the window of the later cell, because windows disagree: raise "
            "overlap_frames to let them agree",
            concerned=joined_windows.disputed,
            # Links that another window alone has are none of those that were joined.
            seen=max(joined_windows.crossing, joined_windows.disputed),
            unit="links across the borders of windows",
        )
    )
    links = without_forks(joined_windows, splitting=params.splitting)
    write_tracks(task, tracks_of(joined_windows.detections, links))
    copy_distances(task, [folder for folder, _ in windows])
    task.count(frames=windows[0][1].movie_frames, objects=len(joined_windows.detections))
    task.write_whole(windows[0][1])


def _detect(
    task: Task, labels: Movie, frames: tuple[int, int], overlaps: OverlapLinker | None
) -> Detections:
    """Centroids of every frame, with a bounded number of frames in memory."""
    found = []
    runs = list(labels.blocks(*frames, channel=0))
    for low, high in task.progress(runs, len(runs), "reading labels"):
        with task.span("read"):
            images = labels.read(low, high, channel=0)
        with task.span("compute"):
            for frame, image in enumerate(images, low):
                found.append(detect(image, frame))
                if overlaps is not None:
                    overlaps.add(image, found[-1])
    return joined(found)


def _load(task: Task[TrackParams]) -> None:
    """Import the tracker's libraries; start Java where it is TrackMate."""
    params = task.params
    jars = jvm.jars_folder(params.trackmate_jars, os.environ)
    with task.span("import"):
        import tifffile  # noqa: F401 - imported here, so that reading is only reading

        if params.backend == "laptrack":
            import laptrack  # noqa: F401 - as above
        elif params.backend == "sparse":
            linking.import_scipy()
        elif params.backend == "trackmate" and not jvm.is_running():
            heap_mib = jvm.fitting_heap_mib(params.trackmate_heap_mib, os.environ)
            jvm.configure(from_maven=jars is None, threads=task.spec.threads, heap_mib=heap_mib)
    if params.backend == "trackmate" and not jvm.is_running():
        with task.span("model_load"):
            jvm.start(jars)


def image_of(params: TrackParams) -> str:
    """Name of the image that has the tracker."""
    return "track_trackmate" if params.backend == "trackmate" else "track"


STAGE = Stage(
    name="track",
    summary="cells linked over time: laptrack or its steps by SciPy, by overlap, or TrackMate",
    params=TrackParams,
    inputs=(Slot("labels", "label movie: OME-TIFF (TYX), or a folder of TIFF label frames"),),
    output=TRACKS_FILE,
    packages=("laptrack", "scipy", "networkx", "pandas", "jpype1"),
    determinism=(
        "same bytes for the same labels and versions; merged windows give the whole movie's "
        "links: always with the backend overlap, where a link depends only on the frames it "
        "spans; with laptrack and sparse except for chains of competing gaps longer than "
        "overlap_frames; TrackMate's gap costs depend on all cells of a window, so its merged "
        "links must be checked"
    ),
    run=run,
    merge=merge,
    check=check,
    method=method,
    extra="track",
    modules=("laptrack", "polars"),
    folders=("truth",),
    image=Image((*OF_EXTRA["track"], SCIPY, ZARR)),
    other_images={
        "track_trackmate": Image(
            (*OF_EXTRA["track"], *OF_EXTRA["track_trackmate"], SCIPY, ZARR),
            debian=("openjdk-17-jre-headless",),
            maven=jvm.MAVEN_COORDINATES,
            imports=("jpype", "laptrack", "scyjava"),
            # %environment would be replaced by the one of the layer above.
            after_install=(
                "echo export JAVA_HOME=/usr/lib/jvm/java-17-openjdk-amd64 "
                'PYSCALE_TRACKMATE_JARS=/opt/pyscale/jars >>"$APPTAINER_ENVIRONMENT"'
            ),
        )
    },
    image_name=image_of,
    surroundings=jvm.surroundings,
    exports={"csv": export_csv, "ctc": export_ctc, "trackmate": export_trackmate},
    needs=NEEDS,
    judged_by="tracks",
)
