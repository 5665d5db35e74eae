"""A stage of one's own: the edges in every frame of a movie, and two numbers of them."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from pyscale_stages.contract import Agreement, Device, Method, Slot, Stage, StageParams
from pyscale_stages.declaration import Image
from pyscale_stages.measured import Measured
from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import write_pages
from pyscale_stages.task import Task
from pyscale_stages.windows import folders_to_check, ordered_windows, same_bytes

OUTPUT = "edges.ome.tif"


class EdgesParams(StageParams):
    """What a suite or `--set` may change."""

    channel: int = Field(0, ge=0, description="Channel of the movie, from 0")
    sigma_px: float = Field(1.0, gt=0, description="Width of the smoothing before")
    least: float = Field(0.2, gt=0, lt=1, description="Share of a frame's steepest edge to reach")


def run(task: Task) -> None:
    """Find the edges in the frames of one worker's window."""
    params = task.params
    assert isinstance(params, EdgesParams)
    with task.span("import"):
        from scipy.ndimage import gaussian_gradient_magnitude
    movie = task.movie("frames")
    window = task.window(movie)
    edges = []
    for frame in task.read_frames(movie, window, params.channel):
        with task.span("compute"):
            steepness = gaussian_gradient_magnitude(frame.astype(np.float32), params.sigma_px)
            edges.append((steepness > params.least * steepness.max()).astype(np.uint8))
            task.count(frames=1)
    with task.span("write"):
        with task.writing(OUTPUT) as path:
            write_pages(path, edges, (len(edges), *movie.shape_yx), np.uint8)
        task.write_window(window, movie.n_frames)
    found = np.stack(edges)
    task.measure(
        Measured(name="edge_pixels", value=int(found.sum()), unit="px", means="Pixels on an edge"),
        Measured(
            name="edge_share",
            value=float(found.mean()),
            better="higher",
            over="mean",
            means="Share of the pixels that are on an edge",
        ),
    )


def merge(task: Task) -> None:
    """Join the windows to one movie."""
    windows = ordered_windows(task)
    movies = [Movie.open(folder / OUTPUT) for folder, _ in windows]
    pages = (page for one in movies for page in one.frames(0, one.n_frames, channel=0))
    shape = (windows[0][1].movie_frames, *movies[0].shape_yx)
    with task.writing(OUTPUT) as path:
        write_pages(path, pages, shape, np.uint8)
    task.write_whole(windows[0][1])


def check(task: Task) -> Agreement:
    """Compare two outputs pixel by pixel."""
    reference, other = folders_to_check(task)
    first, second = (Movie.open(folder / OUTPUT) for folder in (reference, other))
    pairs = zip(*(one.frames(0, one.n_frames, channel=0) for one in (first, second)), strict=True)
    same = float(np.mean([np.mean(one == two) for one, two in pairs]))
    return Agreement(
        same=same == 1,
        identical=same_bytes(reference, other, [OUTPUT]),
        score=same,
        measure="share of pixels that are the same",
        tolerance=1,
    )


def method(_params: EdgesParams, _device: Device) -> Method:
    """Name the algorithm, as reports do."""
    return Method("Gaussian gradient", versioned="scipy", packages=("scipy",))


STAGE = Stage(
    name="edges",
    summary="the edges in every frame",
    params=EdgesParams,
    inputs=(Slot("frames", "movie: OME-TIFF, or a folder of TIFF frames"),),
    output=OUTPUT,
    packages=("scipy",),
    modules=("scipy.ndimage",),
    image=Image(requirements=("scipy>=1.14.1",)),
    determinism="the same bytes, whatever the window",
    run=run,
    merge=merge,
    check=check,
    method=method,
)
