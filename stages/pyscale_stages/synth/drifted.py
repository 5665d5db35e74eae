"""A real image with real labels made into a movie: shifted by a known drift, with camera noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import Field

from pyscale_stages.contract import Record
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.reading import Reading
from pyscale_stages.synth.atomic_folder import make_whole
from pyscale_stages.synth.camera import as_counts
from pyscale_stages.synth.cells import CELL, Labels
from pyscale_stages.synth.movie import KIND, Progress, RenderedFrame, write_frames
from pyscale_stages.synth.params import drift_path, random_stream

Floats = npt.NDArray[np.float64]


class DriftedParams(Record):
    """Parameters of a movie of one real image; the same image and parameters give the same bytes.

    The frames are cut from inside the image, so that real pixels fill what the drift reveals.
    """

    source: str = Field(description="Dataset that holds the image and its labels")
    image: str = Field(description="File of the image, of axes YX")
    labels: str = Field(description="File of its labels")
    seed: int = Field(0, ge=0, lt=2**32, description="Seed of drift and noise")
    frames: int = Field(8, ge=1, le=10_000, description="Length of the movie")
    max_drift_px: float = Field(
        9.0, ge=0, le=500, description="Largest drift of the stage along each axis; 0 is none"
    )
    peak_photons: float = Field(
        100.0, gt=0, le=10_000, description="Photons of the image's brightest pixel"
    )
    read_noise_electrons: float = Field(
        1.4, ge=0, le=100, description="Read noise of a camera pixel"
    )
    gain_counts: float = Field(2.0, gt=0, le=50, description="Camera counts a photo-electron")
    offset_counts: float = Field(
        100.0, ge=0, le=10_000, description="Camera counts of a pixel that sees no light"
    )

    @property
    def margin_px(self) -> int:
        """Pixels around the frames, for the drift and for the interpolation beyond it."""
        return math.ceil(self.max_drift_px) + 1


def write_drifted_movie(
    folder: Path, params: DriftedParams, source: Path, progress: Progress | None = None
) -> Path:
    """Write a movie of a real image with the files and truth of a synthetic one of still cells."""

    def write(partial: Path) -> None:
        write_frames(partial, _frames(params, source), drift_path(params), progress)

    return make_whole(folder, params, KIND, write)


def _frames(params: DriftedParams, source: Path) -> Iterator[RenderedFrame]:
    image, labels = (_read(source / name) for name in (params.image, params.labels))
    _refuse_unfit(image, labels, params, source)
    photons = image * (params.peak_photons / max(float(image.max()), 1.0))
    still = np.zeros(2)
    unmoved = _view(photons, still, params)
    cells = np.zeros(len(np.unique(labels)), CELL)
    cells["track_id"] = np.unique(labels)
    for frame, moved in enumerate(drift_path(params)):
        rng = random_stream(params.seed, "noise", frame)
        seen = _view(photons, moved, params)
        shot = rng.poisson(seen).astype(np.float64)
        shot += params.read_noise_electrons * rng.standard_normal(shot.shape)
        yield RenderedFrame(
            cells,
            _counts(shot, params)[None],
            clean={
                "camera": _counts(seen, params)[None],
                "specimen": _counts(unmoved, params)[None],
            },
            labels={
                "camera": [_labels_seen(labels, moved, moved, params)],
                "specimen": [_labels_seen(labels, still, moved, params)],
            },
        )


def _read(path: Path) -> Pixels:
    """The one image of a file, shape (Y, X)."""
    movie = Movie.open(path, reading=Reading(axes="YX"))
    return np.asarray(movie.read(0, 1, channel=0)[0])


def _refuse_unfit(image: Pixels, labels: Pixels, params: DriftedParams, source: Path) -> None:
    if image.shape != labels.shape or min(image.shape) <= 2 * params.margin_px:
        raise BadInput(
            f"{params.image} and {params.labels} in {source} have {image.shape} and "
            f"{labels.shape} pixels: give an image and labels of one size, above "
            f"{2 * params.margin_px} pixels each way"
        )
    if labels.dtype.kind != "u" or int(labels.max()) > np.iinfo(np.uint16).max:
        raise BadInput(
            f"{source / params.labels} does not hold labels of 16 bits: give whole numbers from "
            "0 to 65535"
        )


def _view(image: Pixels, shift_yx: Floats, params: DriftedParams) -> Floats:
    """What the camera sees of an image that moved by (dy, dx), shape (Y, X)."""
    from scipy.ndimage import shift

    cut = slice(params.margin_px, -params.margin_px)
    # Splines overshoot beside bright pixels, and light is not negative.
    return np.maximum(shift(image.astype(np.float64), shift_yx, order=3)[cut, cut], 0)


def _labels_seen(labels: Pixels, shift_yx: Floats, moved: Floats, params: DriftedParams) -> Labels:
    """Labels shifted by (dy, dx), without the pixels that a camera moved by `moved` missed."""
    seen = np.zeros(labels.shape, np.uint16)
    cut = slice(params.margin_px, -params.margin_px)
    seen[cut, cut] = 1
    dy, dx = np.rint(shift_yx - moved).astype(int)
    # What comes in at the other side lies in the margin, which is cut off.
    seen = np.roll(seen, (dy, dx), axis=(0, 1))
    dy, dx = np.rint(shift_yx).astype(int)
    return (np.roll(labels, (dy, dx), axis=(0, 1)) * seen)[cut, cut].astype(np.uint16)


def _counts(electrons: Floats, params: DriftedParams) -> npt.NDArray[np.uint16]:
    return as_counts(params.offset_counts + params.gain_counts * electrons)
