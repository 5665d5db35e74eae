"""The stage `segment`: cells of one channel as label images."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pyscale_stages.contract import Resources, Slot, Stage
from pyscale_stages.declaration import Image, Needs
from pyscale_stages.framefiles import ENDINGS
from pyscale_stages.hashing import sha256_of
from pyscale_stages.libraries import OF_EXTRA, SCIPY, TORCH, ZARR
from pyscale_stages.movie import Pixels
from pyscale_stages.moviewriter import link_chunks, write_joined
from pyscale_stages.registry import later
from pyscale_stages.segment import models
from pyscale_stages.segment.calls import ModelCalls
from pyscale_stages.segment.labels import (
    LABELS,
    LABELS_FILE,
    LabelStack,
    centre_crop,
    open_labels,
    write_labels,
)
from pyscale_stages.segment.models import Limits
from pyscale_stages.segment.params import SegmentParams, method
from pyscale_stages.task import Task
from pyscale_stages.timing import Call
from pyscale_stages.windows import ordered_windows

if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


def _look(params: SegmentParams, _device: str, _here: bool) -> None:
    """Look for the weights."""
    models.find_model(params)


def _try_out(trying: Trying) -> None:
    """Hash the weights, and segment two small frames."""
    trying.step("find the weights")
    params, cellpose = trying.params, models.installed_cellpose()
    needed = models.CELLPOSE_OF_MODEL.get(params.model, cellpose)
    models.refuse_other_version(params.model, needed, cellpose)
    _weights(trying, models.find_weights(params.model))
    # No square of a real frame fits into a small one; that is the movie's affair.
    trying.small(length_px=None, channel=0)


def _weights(trying: Trying, path: Path) -> None:
    """Hash the weights and hold them to what was recorded when they were trained."""
    sha256 = sha256_of(path)
    record = path.with_suffix(".json")
    recorded = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    expected = recorded.get("weights_sha256")
    if expected not in {None, sha256}:
        trying.problem(
            "weights",
            f"the weights {path} differ from those that {record.name} records: sha256 is "
            f"{sha256[:12]}…, expected {expected[:12]}…",
            "install pyscale again",
        )
        return
    held = ", as recorded" if expected else ""
    said = f"{path.name} ({path.stat().st_size / 2**20:.1f} MiB), sha256 {sha256[:12]}…"
    trying.ok("weights", f"{said}{held}; nothing is fetched")


PERCENTILES = (1, 99)
"""Cellpose's own."""
LEAST_CONTRAST = 1e-3
"""Below it Cellpose takes a frame for empty."""


def run(task: Task[SegmentParams]) -> None:
    """Segment the window frame by frame: labels of a frame do not depend on the window."""
    params = task.params
    with task.span("read"):
        movie = task.movie("frames")
        start, stop = task.window(movie)
        crop = centre_crop(movie, params.length_px)
        area = task.valid_area("frames", movie)
    frames = task.read_frames(movie, (start, stop), params.channel)
    # Input that cannot be read ends the task before the libraries and the model are loaded.
    first = next(frames)
    model = models.find_model(params)
    with task.span("import"):
        import tifffile  # noqa: F401 - what reads and writes frames

        models.import_cellpose(model.cellpose)
    calls = ModelCalls(task, params, model)
    stack = LabelStack()
    together = task.progress(chain([first], frames), stop - start, "segmenting")
    for number, frame in enumerate(together, start):
        limits = None
        if area is not None and params.normalise:
            with task.span("read"):
                seen = area.read(number, number + 1, channel=0)[0]
                limits = limits_of(crop.of(frame), crop.of(seen))
        labels = calls.segment(crop.of(frame), number, limits)
        task.count(frames=1, objects=int(labels.max(initial=0)))
        with task.span("write"):
            stack.add(labels)
    for doubt in calls.doubts.warnings():
        task.warn_of(doubt)
    with task.span("write"):
        write_labels(task, stack, (start, stop), movie.n_frames)
        task.write_window((start, stop), movie.n_frames)


def merge(task: Task[SegmentParams]) -> None:
    """Join the label images of all windows, whose numbers stay as they are."""
    windows = ordered_windows(task)
    movies = [open_labels(folder, window) for folder, window in windows]
    task.count(
        frames=windows[0][1].movie_frames, objects=sum(window.objects for _, window in windows)
    )
    if task.params.output_format == "ome-zarr":
        with task.writing_folder(movies[0].path.name) as path:
            link_chunks(path, [movie.path for movie in movies])
    else:
        with task.writing(LABELS_FILE) as path:
            # Where one window has more cells than uint16 can number, the others are widened.
            write_joined(path, movies, LabelStack())
    task.write_whole(windows[0][1])


def limits_of(frame: Pixels, seen: Pixels) -> Limits | None:
    """Percentiles of the pixels that the camera saw; None where the frame's own do."""
    is_seen = seen > 0
    if is_seen.all() or not is_seen.any():
        return None
    low, high = np.percentile(frame[is_seen].astype(np.float32), PERCENTILES)
    return (float(low), float(high)) if high - low > LEAST_CONTRAST else None


STAGE = Stage(
    name="segment",
    summary="cells of one channel as label images, with Cellpose 3 or 4",
    params=SegmentParams,
    inputs=(Slot("frames", "movie to segment: OME-TIFF, or a folder of TIFF frames"),),
    output=LABELS_FILE,
    outputs=lambda params: f"{LABELS}{ENDINGS[params.output_format]}",
    packages=("cellpose", "torch", "opencv-python-headless", "fastremap", "scipy"),
    samples=(Call,),
    determinism=(
        "same bytes on one device with the same versions and threads, whatever the window; "
        "another device or number of threads rounds differently, which can move boundary pixels "
        "and, rarely, split, join or drop a doubtful cell"
    ),
    run=run,
    merge=merge,
    check=later("segment.agreement", "check"),
    method=method,
    resources=Resources(cpus=1, memory_gib=4.0, devices=("cpu", "cuda", "mps")),
    extra="segment",
    modules=("torch", "cellpose", "cv2", "fastremap"),
    folders=("truth",),
    has_models=True,
    image=Image((*OF_EXTRA["segment_cellpose4"], TORCH, SCIPY, ZARR), cuda=()),
    other_images={
        "segment_cellpose3": Image(
            (*OF_EXTRA["segment"], TORCH, SCIPY, ZARR),
            cuda=(),
            # Cellpose 3 compiles functions when it is imported.
            after_code=(
                "mkdir -p /opt/pyscale/numba\n"
                "NUMBA_CACHE_DIR=/opt/pyscale/numba /opt/pyscale/venv/bin/python -B -c "
                '"from pyscale_stages.segment.models import import_cellpose; import_cellpose(3)"'
            ),
        )
    },
    image_name=models.image_of,
    surroundings=models.surroundings,
    needs=Needs(
        deciding=("model", "estimate_diameter"),
        look=_look,
        try_out=_try_out,
    ),
    judged_by="labels",
)
