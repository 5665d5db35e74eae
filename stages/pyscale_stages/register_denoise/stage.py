"""The stage `register_denoise`: frames without drift and noise."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from pyscale_stages.contract import Slot, Stage
from pyscale_stages.declaration import Image, Needs
from pyscale_stages.errors import BadInput
from pyscale_stages.framefiles import ENDINGS
from pyscale_stages.libraries import OF_EXTRA, SCIPY, ZARR
from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.moviewriter import (
    PackedFrames,
    link_chunks,
    write_chunks,
    write_joined,
    write_pages,
)
from pyscale_stages.parquet import write_tables
from pyscale_stages.register_denoise.agreement import check
from pyscale_stages.register_denoise.ants_calls import is_here, set_seed
from pyscale_stages.register_denoise.correction import (
    Composition,
    CorrectedFrame,
    correct_frame,
    driving_channel,
    reference_image,
)
from pyscale_stages.register_denoise.denoisers import Fallback, import_denoiser, noise_warnings
from pyscale_stages.register_denoise.frames import (
    FRAMES,
    FRAMES_FILE,
    open_frames,
    output_dtype,
    refuse_unusable,
)
from pyscale_stages.register_denoise.params import RegisterDenoiseParams, method
from pyscale_stages.register_denoise.transforms import (
    TRANSFORMS_FILE,
    doubts,
    read_transforms,
    table_of,
)
from pyscale_stages.register_denoise.translation import import_libraries
from pyscale_stages.task import Task
from pyscale_stages.validarea import VALID_FILE, Mask, beside
from pyscale_stages.windows import ordered_windows

SIMPLE: dict[str, Any] = {
    "channel": 0,
    "reference_frame": 0,
    "iterations": [10],
    "shrink_factors": [1],
    "smoothing_sigmas_px": [0],
}
"""What parameters of any movie are for a small one, on which the doctor tries the stage."""


def run(task: Task[RegisterDenoiseParams]) -> None:
    """Register and denoise the window; a frame depends on itself and the reference frame alone."""
    params = task.params
    with task.span("import"):
        import tifffile  # noqa: F401 - so that its import is not taken for reading
    # Input that cannot be read ends the task before ANTs is imported, which takes seconds.
    with task.span("read"):
        movie = task.movie("frames")
        start, stop = task.window(movie)
        refuse_unusable(movie, params)
        reference = reference_image(movie, start, params)
    frames = task.read_frames(movie, (start, stop))
    first = next(frames)
    _load(task)
    # A window that is not the whole movie cannot know how far it has drifted before.
    composition = Composition(params) if params.adds_up and stop - start == movie.n_frames else None
    fallbacks: list[Fallback | None] = []

    def load_ants() -> bool:
        if is_here():
            _load_ants(task)
        return is_here()

    def corrected_frames() -> Iterator[CorrectedFrame]:
        nonlocal reference
        each = task.progress(chain([first], frames), stop - start, "registering")
        for index, frame in enumerate(each, start):
            with task.span("compute"):
                corrected = correct_frame(
                    frame, index, reference, params, movie.path, load_ants=load_ants
                )
                fallbacks.extend(corrected.fallbacks)
                if params.adds_up:
                    reference = driving_channel(frame, params)
                if composition is not None:
                    corrected = composition.placed(corrected)
                task.count(frames=1)
            yield corrected

    # The writer asks for images, and what it waits for is computed and read in other spans.
    with task.span("write"):
        whole = movie.stack_shape(movie.n_frames)
        transforms = _write(
            task, corrected_frames(), whole, output_dtype(movie.dtype), (start, stop)
        )
        for warning in (
            *doubts(transforms, params, has_ants=is_here()),
            *noise_warnings(fallbacks),
        ):
            task.warn_of(warning)
        task.write_window((start, stop), movie.n_frames)


def _load(task: Task[RegisterDenoiseParams]) -> None:
    """Import what computes and writes."""
    params = task.params
    with task.span("import"):
        import tifffile  # noqa: F401

        import_denoiser(params)
        if params.registration and params.backend == "fft":
            import_libraries()
    if params.registration and params.backend == "ants":
        _load_ants(task)


def _load_ants(task: Task[RegisterDenoiseParams]) -> None:
    with task.span("import"):
        import ants  # noqa: F401
    with task.span("compute"):
        set_seed(task.spec.seed)


def merge(task: Task[RegisterDenoiseParams]) -> None:
    """Join frames, valid areas and transforms of all windows; add up steps between neighbours."""
    params = task.params
    windows = ordered_windows(task)
    movies = [open_frames(folder, window) for folder, window in windows]
    areas = [_area(movie) for movie in movies]
    movie_frames = windows[0][1].movie_frames
    transforms = pl.concat(
        [read_transforms(folder, window.frames) for folder, window in windows], rechunk=True
    )
    # One window is the whole movie, and was moved when it was registered.
    if params.adds_up and len(windows) > 1:
        corrected: Iterator[CorrectedFrame] = map(
            CorrectedFrame,
            chain.from_iterable(movie.frames(0, movie.n_frames) for movie in movies),
            chain.from_iterable(_masks(area) for area in areas),
            transforms.iter_rows(named=True),
        )
        placed = map(Composition(params).placed, corrected)
        whole = movies[0].stack_shape(movie_frames)
        _write(task, placed, whole, movies[0].dtype, (0, movie_frames))
    else:
        if params.output_format == "ome-zarr":
            with task.writing_folder(movies[0].path.name) as path:
                link_chunks(path, [movie.path for movie in movies])
        else:
            with task.writing(FRAMES_FILE) as path:
                write_joined(path, movies)
        with task.writing(VALID_FILE) as path:
            write_joined(path, areas, PackedFrames(np.uint8))
        write_tables(task, {TRANSFORMS_FILE: transforms})
    task.write_whole(windows[0][1])
    task.count(frames=movie_frames)


def _area(movie: Movie) -> Movie:
    """Open the valid area of a window's output."""
    area = beside(movie)
    if area is None:
        raise BadInput(
            f"{movie.path.parent} has no {VALID_FILE}: run the stage on that window again"
        )
    return area


def _masks(area: Movie) -> Iterator[Mask]:
    for page in area.frames(0, area.n_frames, channel=0):
        yield page.astype(bool)


def _write(
    task: Task[RegisterDenoiseParams],
    corrected: Iterator[CorrectedFrame],
    whole: tuple[int, ...],
    dtype: np.dtype[Any],
    window: tuple[int, int],
) -> pl.DataFrame:
    """Write a window of the whole output as it comes, and return its table of transforms."""
    area = PackedFrames(np.uint8)
    rows: list[dict[str, Any]] = []

    def images() -> Iterator[Pixels]:
        for frame in corrected:
            area.add(frame.seen)
            rows.append(frame.row)
            yield from frame.pixels

    if task.params.output_format == "ome-zarr":
        with task.writing_folder(f"{FRAMES}{ENDINGS['ome-zarr']}") as path:
            write_chunks(path, images(), whole, dtype, window[0])
    else:
        with task.writing(FRAMES_FILE) as path:
            write_pages(path, images(), (window[1] - window[0], *whole[1:]), dtype)
    with task.writing(VALID_FILE) as path:
        area.write(path)
    transforms = table_of(rows)
    write_tables(task, {TRANSFORMS_FILE: transforms})
    return transforms


STAGE = Stage(
    name="register_denoise",
    summary="every frame registered to a reference frame with ANTs or by FFT, and denoised",
    params=RegisterDenoiseParams,
    inputs=(Slot("frames", "movie to correct: OME-TIFF, or a folder of TIFF frames"),),
    output=FRAMES_FILE,
    outputs=lambda params: f"{FRAMES}{ENDINGS[params.output_format]}",
    moves_frames=lambda params: params.registration,
    packages=("antspyx", "PyWavelets", "scipy"),
    determinism=(
        "same bytes with one thread, whatever the window; with more threads ANTs sums its metric "
        "in a changing order, which moved the corners of a frame of 201 x 199 pixels by up to "
        "0.05 px (Translation), 0.8 px (Rigid) and 3.2 px (Affine, SyN); wavelet and fft always "
        "use one thread"
    ),
    run=run,
    merge=merge,
    check=check,
    method=method,
    extra="register_denoise",
    image=Image((*OF_EXTRA["register_denoise"], SCIPY, ZARR)),
    modules=("ants", "pywt", "scipy.ndimage"),
    needs=Needs(try_out=lambda trying: trying.small(**SIMPLE)),
)
