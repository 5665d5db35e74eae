"""Rendered frames of a synthetic movie, with their labels, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from pyscale_stages.synth.camera import Microscope
from pyscale_stages.synth.cells import Cells
from pyscale_stages.synth.drift import drift_path, random_stream
from pyscale_stages.synth.params import SynthParams
from pyscale_stages.synth.population import simulate
from pyscale_stages.synth.shapes import Labels, cover, label_image

Coordinates = Literal["camera", "specimen"]


@dataclass(frozen=True)
class RenderedFrame:
    """One frame: its cells, what the camera sees, and which pixels are whose.

    `cells`: all live cells, in specimen coordinates, also those out of view. `image`: camera
    counts, shape (C, Y, X), uint16. `clean`: the same without noise. `labels`: for "camera" and,
    where asked for, "specimen": a label image (Y, X) for each channel.
    """

    cells: Cells
    image: npt.NDArray[np.uint16]
    clean: npt.NDArray[np.uint16]
    labels: dict[Coordinates, list[Labels]]


def render_frames(
    params: SynthParams, coordinates: Sequence[Coordinates]
) -> Iterator[RenderedFrame]:
    """Render frame after frame; labels in the coordinates asked for, "camera" among them."""
    microscope = Microscope(params)
    drift = drift_path(params)
    shape = params.shape_yx
    for index, cells in enumerate(simulate(params)):
        rng = random_stream(params.seed, "noise", index)
        image, clean = np.empty((2, params.cell_types, *shape), np.uint16)
        labels: dict[Coordinates, list[Labels]] = {name: [] for name in coordinates}
        for channel in range(params.cell_types):
            own = cells[cells["cell_type"] == channel]
            seen = cover(own, drift[index], shape)
            labels["camera"].append(label_image(own, seen, shape))
            image[channel], clean[channel] = microscope.picture(
                own, seen, labels["camera"][-1], rng
            )
            if "specimen" in coordinates:
                still = cover(own, np.zeros(2), shape)
                labels["specimen"].append(label_image(own, still, shape))
        yield RenderedFrame(cells, image, clean, labels)


def render_examples(
    params: SynthParams,
) -> Iterator[tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]]:
    """Render frames in memory, for training and tests: the same as the movie on disk.

    Returns `image, labels`: each of shape (C, Y, X), uint16: camera counts, and the track id of
    each pixel's cell (0 outside), in camera coordinates.
    """
    for frame in render_frames(params, ("camera",)):
        yield frame.image, np.stack(frame.labels["camera"])
