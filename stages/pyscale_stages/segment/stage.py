"""The stage `segment`: cells of one channel as label images."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from pyscale_stages.contract import Resources, Slot, Stage
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.segment import models
from pyscale_stages.segment.agreement import check
from pyscale_stages.segment.calls import ModelCalls, load_for_tasks
from pyscale_stages.segment.labels import LABELS_FILE, LabelStack, centre_crop, open_labels
from pyscale_stages.segment.memory import refuse_beyond_memory
from pyscale_stages.segment.params import SegmentParams, method
from pyscale_stages.segment.seen import limits_of
from pyscale_stages.task import Task
from pyscale_stages.windows import ordered_windows


def run(task: Task) -> None:
    """Segment the task's window frame by frame.

    Each frame is given to Cellpose alone, so that its labels do not depend on the window.
    """
    params = task.params
    assert isinstance(params, SegmentParams)
    with task.span("read"):
        movie = task.movie("frames")
        start, stop = task.window(movie)
        crop = centre_crop(movie, params.length_px)
        area = task.valid_area("frames", movie)
        refuse_beyond_memory(crop.shape_yx, movie, params)
    frames = _frames(task, movie, start, stop, params.channel)
    # Input that cannot be read ends the task before the libraries and the model are loaded.
    first = next(frames)
    calls = ModelCalls(task, params, _model(task, params))
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
        _write(task, stack)
        task.write_window((start, stop), movie.n_frames)


def merge(task: Task) -> None:
    """Join the label images of all windows, one frame in memory at a time."""
    stack = LabelStack()
    windows = ordered_windows(task)
    shape_yx: tuple[int, int] | None = None
    for folder, window in windows:
        start, stop = window.frames
        labels = open_labels(folder, stop - start)
        shape_yx = shape_yx or labels.shape_yx
        if labels.shape_yx != shape_yx:
            raise BadInput(
                f"{labels.path} has frames of {labels.shape_yx}, but the windows before it "
                f"{shape_yx}: use windows of one movie"
            )
        for frame in labels.frames(0, stop - start, channel=0):
            stack.add(frame)
            task.count(frames=1, objects=int(frame.max(initial=0)))
    _write(task, stack)
    task.write_whole(windows[0][1])


def preload(task: Task) -> None:
    """Import Cellpose and load the model."""
    params = task.params
    assert isinstance(params, SegmentParams)
    model = _model(task, params)
    if not params.build_each_call:
        load_for_tasks(task, model)


def _model(task: Task, params: SegmentParams) -> models.Model:
    model = models.find_model(params)
    with task.span("import"):
        import tifffile  # noqa: F401 - what reads and writes frames

        models.import_cellpose(model.cellpose)
    return model


def _frames(task: Task, movie: Movie, start: int, stop: int, channel: int) -> Iterator[Pixels]:
    for first, end in movie.blocks(start, stop, channel):
        with task.span("read"):
            frames = movie.read(first, end, channel)
        yield from frames


def _write(task: Task, stack: LabelStack) -> None:
    with task.writing(LABELS_FILE) as path:
        stack.write(path)


STAGE = Stage(
    name="segment",
    summary="cells of one channel as label images, with Cellpose 3 or 4",
    params=SegmentParams,
    inputs=(Slot("frames", "movie to segment: OME-TIFF, or a folder of TIFF frames"),),
    output=LABELS_FILE,
    packages=("cellpose", "torch", "opencv-python-headless", "fastremap", "scipy"),
    determinism=(
        "same bytes on one device with the same versions and threads, whatever the window; "
        "another device or number of threads rounds differently, which can move boundary pixels "
        "and, rarely, split, join or drop a doubtful cell"
    ),
    run=run,
    merge=merge,
    check=check,
    method=method,
    resources=Resources(cpus=1, memory_gib=4.0, devices=("cpu", "cuda", "mps")),
    extra="segment",
    image=models.image_of,
    surroundings=models.surroundings,
    preload=preload,
)
