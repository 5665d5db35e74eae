"""Measures the contacts in one window of a label movie."""

from __future__ import annotations

from dataclasses import astuple

from pyscale_stages.contact.device import (
    import_pyclesperanto,
    keep_no_kernels,
    select_device,
)
from pyscale_stages.contact.labels import DenseLabels, densify, open_labels, pieces, read_labels
from pyscale_stages.contact.params import ContactParams
from pyscale_stages.contact.pixels import build_kernels, fits_sums, measure
from pyscale_stages.contact.strips import Layout, layout_of
from pyscale_stages.contact.tables import Rows, Tables, frame_rows, tables_of, write_tables
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.task import Task


def run(task: Task) -> None:
    """Measure every frame of the window and write contacts, cells and neighbours.

    Raises
    ------
    BadInput
        If the input is no label movie, or the whole movie holds no cell.
    MissingPart
        If the machine has no OpenCL device of the wanted kind.
    ResourceExhausted
        If the device cannot hold the matrices of a frame.
    """
    assert isinstance(task.params, ContactParams)
    with task.span("read"):
        movies = open_labels(task)
        window = task.window(movies[0])
    _import(task, task.params)
    with task.span("model_load"):
        task.versions |= select_device(task.spec.device)
        task.versions["kernel_cache"] = task.params.kernel_cache
    tables = _measured(task, movies, window)
    if tables["cells"].is_empty():
        _say_empty(task, movies, window)
    with task.span("write"):
        write_tables(task, tables)
        task.write_window(window, movies[0].n_frames)
    task.count(frames=window[1] - window[0], objects=len(tables["contacts"]))


def _import(task: Task, params: ContactParams) -> None:
    with task.span("import"):
        if params.kernel_cache == "none":
            keep_no_kernels()
        import polars  # noqa: F401 - the import is what is timed
        import scipy.spatial  # noqa: F401

        import_pyclesperanto()


def _measured(task: Task, movies: tuple[Movie, ...], window: tuple[int, int]) -> Tables:
    """Tables of the window, read and measured piece by piece."""
    built: set[Layout] = set()
    rows: list[Rows] = []
    ranges = list(pieces(movies, window))
    for start, stop in task.progress(ranges, len(ranges), "finding contacts"):
        with task.span("read"):
            frames = [read_labels(movie, start, stop) for movie in movies]
        with task.span("compute"):
            cells = [[densify(image) for image in images] for images in zip(*frames, strict=True)]
            n_cells = [sum(len(of_type.labels) for of_type in types) for types in cells]
            for frame, types in enumerate(cells, start):
                _refuse_masks(movies, frame, types)
            layouts = [layout_of(types) for types in cells]
        needed = {layout for layout, n in zip(layouts, n_cells, strict=True) if n} - built
        if needed:
            with task.span("model_load"):
                for layout in sorted(needed, key=astuple):
                    build_kernels(len(movies), movies[0].shape_yx, layout)
            built |= needed
        with task.span("compute"):
            rows += [
                frame_rows(frame, types, measure(types, layout))
                for frame, (types, layout, n) in enumerate(
                    zip(cells, layouts, n_cells, strict=True), start
                )
                if n
            ]
    with task.span("compute"):
        return tables_of(rows)


def _refuse_masks(movies: tuple[Movie, ...], frame: int, types: list[DenseLabels]) -> None:
    """Refuse cells so large that the device's sums of coordinates would wrap."""
    for movie, cells in zip(movies, types, strict=True):
        if not fits_sums(cells).all():
            largest = int(cells.area_px.argmax())
            raise BadInput(
                f"label {cells.labels[largest]} in frame {frame} of {movie.path} covers "
                f"{cells.area_px[largest]} pixels, more than a cell and than the device can sum: "
                "is it a mask? Give every cell a label of its own"
            )


def _say_empty(task: Task, movies: tuple[Movie, ...], window: tuple[int, int]) -> None:
    """Refuse a whole movie without any cell; warn of such a window, whose tables are empty."""
    names = " and ".join(str(movie.path) for movie in movies)
    if window == (0, movies[0].n_frames):
        raise BadInput(
            f"labels in {names} are empty in all frames: look at the segmentation that wrote them"
        )
    task.warn(f"labels in {names} are empty in the frames {window[0]}:{window[1]}", "empty-frames")
