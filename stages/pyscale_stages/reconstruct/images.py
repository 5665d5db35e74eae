"""Images that are reconstructed: made ones, the same for one seed, or one of the user's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.reading import Reading
from pyscale_stages.reconstruct.stage import STEP_PX, ReconstructParams

Pixels = NDArray[np.float32]

SHAPES = 28
"""Discs and boxes of the colour image, each over those before it."""
SHAPE_SHARE = (0.04, 0.18)
"""Half lengths of these, as shares of the image's length."""
PERIODS_PX = (4.0, 24.0)
"""Of stripes and checks: in pixels, so that an image of any size has fine detail."""
GRAIN = 0.08
"""Standard deviation of the grain on some shapes."""

HEAD_2D = (
    # value, half lengths x and y, centre x and y, degrees
    (1.0, 0.69, 0.92, 0.0, 0.0, 0.0),
    (-0.8, 0.6624, 0.874, 0.0, -0.0184, 0.0),
    (-0.2, 0.11, 0.31, 0.22, 0.0, -18.0),
    (-0.2, 0.16, 0.41, -0.22, 0.0, 18.0),
    (0.1, 0.21, 0.25, 0.0, 0.35, 0.0),
    (0.1, 0.046, 0.046, 0.0, 0.1, 0.0),
    (0.1, 0.046, 0.046, 0.0, -0.1, 0.0),
    (0.1, 0.046, 0.023, -0.08, -0.605, 0.0),
    (0.1, 0.023, 0.023, 0.0, -0.606, 0.0),
    (0.1, 0.023, 0.046, 0.06, -0.605, 0.0),
)
"""Ellipses of Shepp and Logan (1974), with the contrast that Toft (1996) gave them."""
HEAD_3D = (
    # value, half lengths x, y and z, centre x, y and z, degrees about z
    (1.0, 0.69, 0.92, 0.9, 0.0, 0.0, 0.0, 0.0),
    (-0.8, 0.6624, 0.874, 0.88, 0.0, 0.0, 0.0, 0.0),
    (-0.2, 0.41, 0.16, 0.21, -0.22, 0.0, -0.25, 108.0),
    (-0.2, 0.31, 0.11, 0.22, 0.22, 0.0, -0.25, 72.0),
    (0.2, 0.21, 0.25, 0.5, 0.0, 0.35, -0.25, 0.0),
    (0.2, 0.046, 0.046, 0.046, 0.0, 0.1, -0.25, 0.0),
    (0.1, 0.046, 0.023, 0.02, -0.08, -0.65, -0.25, 0.0),
    (0.1, 0.046, 0.023, 0.02, 0.06, -0.65, -0.25, 90.0),
    (0.2, 0.056, 0.04, 0.1, 0.06, -0.105, 0.625, 90.0),
    (-0.2, 0.056, 0.056, 0.1, 0.0, 0.1, 0.625, 0.0),
)
"""Ellipsoids of Kak and Slaney (1988), table 3.2, their contrast raised in the same way."""


def lengths_of(params: ReconstructParams) -> tuple[int, ...]:
    """Height and width of the image in pixels, or depth, height and width of a volume."""
    if params.image is None:
        if params.problem == "tomography_3d":
            return (params.size_px,) * 3
        return params.height_px or params.size_px, params.size_px
    return _cropped(_opened(params.image, params), params)


def _cropped(movie: Movie, params: ReconstructParams) -> tuple[int, ...]:
    found: tuple[int, ...] = movie.shape_yx
    if params.problem == "tomography_3d":
        found = (movie.n_frames, *found)
    lengths = tuple(length // STEP_PX * STEP_PX for length in found)
    if not min(lengths):
        raise BadInput(
            f"{params.image} is smaller than {STEP_PX} pixels along an axis: use another"
        )
    if params.problem != "colour_deblur" and len(set(lengths)) > 1:
        raise BadInput(
            f"{params.image} has {' x '.join(map(str, found))} pixels, and {params.problem} needs "
            "an image of one length along all axes: crop it"
        )
    return lengths


def _own_image(path: Path, params: ReconstructParams) -> Pixels:
    """Read the image, (channels, *lengths), as shares of its largest value."""
    movie = _opened(path, params)
    lengths = _cropped(movie, params)
    if params.problem == "tomography_3d":
        pixels = movie.read(0, lengths[0], channel=0)[None]
    elif params.problem == "tomography_2d":
        pixels = movie.read(0, 1, channel=0)
    else:
        pixels = movie.read(0, 1)[0]
    pixels = pixels[(slice(None), *(slice(length) for length in lengths))].astype(np.float32)
    darkest, brightest = min(pixels.min(), 0), pixels.max()
    if not brightest > pixels.min():
        raise BadInput(f"{path} has one value everywhere, so nothing can be seen in it")
    return np.asarray((pixels - darkest) / (brightest - darkest))


def _opened(path: Path, params: ReconstructParams) -> Movie:
    """Open the file; the planes of a volume are read as frames."""
    is_volume = params.problem == "tomography_3d"
    return Movie.open(path, reading=Reading(axes="TYX")) if is_volume else Movie.open(path)


def image_of(params: ReconstructParams, seed: int) -> Pixels:
    """Make or read the image of a problem, (channels, *lengths) from 0 to 1."""
    size = params.size_px
    if params.image is not None:
        return _own_image(params.image, params)
    if params.problem == "colour_deblur":
        height, width = lengths_of(params)
        return _colour_image(max(height, width), seed)[:, :height, :width]
    return (_head_2d(size) if params.problem == "tomography_2d" else _head_3d(size))[None]


def _colour_image(size: int, seed: int) -> Pixels:
    """Draw smooth shades, and over them shapes with sharp edges, of which some have a texture."""
    # Grain draws a number for each pixel: of one generator, shapes would depend on the size.
    shapes, grains = (np.random.default_rng((seed, 0, part)) for part in range(2))
    image = _shades(size, shapes)
    for _ in range(SHAPES):
        _draw_shape(image, shapes, grains)
    return np.clip(image, 0, 1, out=image)


def _shades(size: int, random: np.random.Generator) -> Pixels:
    """Colours that change slowly over the whole image."""
    along = _centres(size)
    image = np.empty((3, size, size), np.float32)
    for channel in image:
        turns, phases = random.uniform(0.3, 1.2, 2), random.uniform(0, 2 * np.pi, 2)
        down, across = (
            np.cos(np.pi * turn * along + phase) for turn, phase in zip(turns, phases, strict=True)
        )
        channel[:] = 0.5 + 0.3 * np.outer(down, across)
    return image


def _draw_shape(image: Pixels, random: np.random.Generator, grains: np.random.Generator) -> None:
    """Put one disc or box, turned by any angle, over what is there."""
    size = image.shape[-1]
    centre_y, centre_x = random.uniform(0, size, 2)
    half_u, half_v = random.uniform(*SHAPE_SHARE, 2) * size
    angle = random.uniform(0, np.pi)
    colour = random.uniform(0.05, 0.95, 3).astype(np.float32)
    is_disc = random.random() < 0.5
    texture = random.choice(["none", "stripes", "checks", "grain"])
    period, contrast = random.uniform(*PERIODS_PX), random.uniform(0.1, 0.35)

    reach = float(np.hypot(half_u, half_v))
    rows, columns = (
        slice(max(0, int(centre - reach)), min(size, int(centre + reach) + 2))
        for centre in (centre_y, centre_x)
    )
    y = np.arange(rows.start, rows.stop, dtype=np.float32)[:, None] - np.float32(centre_y)
    x = np.arange(columns.start, columns.stop, dtype=np.float32) - np.float32(centre_x)
    cosine, sine = np.float32(np.cos(angle)), np.float32(np.sin(angle))
    u, v = cosine * x + sine * y, cosine * y - sine * x
    if is_disc:
        inside = (u / half_u) ** 2 + (v / half_v) ** 2 <= 1
    else:
        inside = (np.abs(u) <= half_u) & (np.abs(v) <= half_v)

    value: Pixels = np.zeros(u.shape, np.float32)
    if texture == "grain":
        value += GRAIN * grains.standard_normal(u.shape, np.float32)
    elif texture != "none":
        value += contrast * np.cos(2 * np.pi / period * u)
        if texture == "checks":
            value = contrast * np.sign(value * np.cos(2 * np.pi / period * v))
    for channel, shade in zip(image, colour, strict=True):
        channel[rows, columns][inside] = (shade + value)[inside]


def _head_2d(size: int) -> Pixels:
    image = np.zeros((size, size), np.float32)
    for value, half_x, half_y, x, y, degrees in HEAD_2D:
        image += value * (_ellipse(size, (half_x, half_y), (x, y), degrees) <= 1)
    return np.clip(image, 0, 1, out=image)


def _head_3d(size: int) -> Pixels:
    volume = np.zeros((size, size, size), np.float32)
    for value, half_x, half_y, half_z, x, y, z, degrees in HEAD_3D:
        flat = _ellipse(size, (half_x, half_y), (x, y), degrees)
        above = ((_centres(size) - z) / half_z) ** 2
        # Plane by plane: several volumes of this size at once need not fit into memory.
        for plane in np.flatnonzero(above <= 1):
            volume[plane] += value * (flat <= 1 - above[plane])
    return np.clip(volume, 0, 1, out=volume)


def _ellipse(
    size: int, half_xy: tuple[float, float], centre_xy: tuple[float, float], degrees: float
) -> NDArray[np.float64]:
    """Squared distance from an ellipse's centre in its own lengths, at every pixel."""
    angle = np.deg2rad(degrees)
    off_x = _centres(size)[None, :] - centre_xy[0]
    # The first row of an image is its top.
    off_y = _centres(size)[::-1, None] - centre_xy[1]
    u = np.cos(angle) * off_x + np.sin(angle) * off_y
    v = np.cos(angle) * off_y - np.sin(angle) * off_x
    return np.asarray((u / half_xy[0]) ** 2 + (v / half_xy[1]) ** 2)


def _centres(size: int) -> NDArray[np.float64]:
    """Where pixels' centres lie between -1 and 1."""
    return (np.arange(size) + 0.5) * (2 / size) - 1
