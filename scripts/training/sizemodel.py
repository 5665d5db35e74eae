"""Trains the size model of the embedded model, by Cellpose's own training, and judges it."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from pydantic import Field

from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.hashing import sha256_of
from pyscale_stages.segment.models import Labels
from pyscale_stages.segment.sizemodel import SizeWeights, of_cellpose
from training.examples import Example


class SizePlan(Record):
    """What the training of the size model is made of; the network stays as it is."""

    # Cellpose's regression is drawn to the mean by a fixed weight: with few crops it would
    # underestimate large cells by a third.
    passes: int = Field(10, ge=1, description="Passes over all frames, each cropped anew")
    crop_px: int = Field(96, description="Side of a crop")
    scale_range: float = Field(
        0.8, description="Crops are scaled by 1 - half of it to 1 + half of it"
    )
    batch_size: int = Field(8, description="Crops that the network sees at once")


class SizeRecord(Record):
    """How the size model came to be and how right it is."""

    plan: SizePlan
    wall_s: float = Field(description="Training, without rendering and judging")
    weights_sha256: str
    weights_bytes: int
    relative_error_held_out: dict[str, float] = Field(
        description="Median |estimated / true diameter - 1| over the frames of each held-out movie"
    )
    relative_error: float = Field(description="The same over the frames of all of them")
    relative_error_of_style: float = Field(
        description="The same of the first estimate, which is from the style alone"
    )
    real_nuclei: dict[str, float | str] = Field(
        description="Estimated and true diameter of real nuclei, where they were given"
    )


def train_size_model(net: Any, known: Sequence[Example], plan: SizePlan, output: Path) -> float:
    """Train a size model for a network, and write it.

    Parameters
    ----------
    net : CPnet
        Trained, with its diameters; as `build_net` makes it.
    known : sequence of Example
    plan : SizePlan
    output : Path
        Where the size model goes, as JSON.

    Returns
    -------
    float
        Seconds of the training.
    """
    from cellpose.train import train_size

    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        # It also saves what it returns, in a form that can execute anything when it is read.
        params = train_size(
            net,
            Path(folder) / "pickled",
            train_data=[frame for frame, _ in known],
            train_labels=[_as_if_with_flows(labels) for _, labels in known],
            channels=[0, 0],
            n_epochs=plan.passes,
            batch_size=plan.batch_size,
            bsize=plan.crop_px,
            scale_range=plan.scale_range,
        )
    wall_s = time.monotonic() - start
    found = of_cellpose(params)
    width = int(net.nbase[-1])
    # Asked for a style, Cellpose rescales the frame from the training cells' mean diameter to the
    # one that the network knows, and takes the estimate to be of the frame as it was.
    rescaled = math.log(net.diam_mean.item() / net.diam_labels.item())
    trained = SizeWeights(
        # The style is as wide as the network's last level; Cellpose's array is wider, and zero.
        slopes=found.slopes[:width],
        style_mean=found.style_mean[:width],
        intercept=found.intercept - rescaled,
        diam_mean_px=found.diam_mean_px,
    )
    write_atomically(output, trained.model_dump_json(indent=1) + "\n")
    return wall_s


def size_record(
    plan: SizePlan,
    wall_s: float,
    weights: Path,
    size_model: Any,
    *,
    held_out: Mapping[str, Iterable[Example]],
    nuclei: Example | None,
) -> SizeRecord:
    """Judge a size model by frames that it was not trained on.

    Parameters
    ----------
    plan : SizePlan
    wall_s : float
        As `train_size_model` returns it.
    weights : Path
        File of the size model.
    size_model : cellpose.models.SizeModel
        As `load_size_model` gives it.
    held_out : mapping of str to Example
        Frames of each held-out movie.
    nuclei : Example, optional
        A real frame with reference labels.
    """
    errors = {
        name: [_relative_errors(size_model, frame, labels) for frame, labels in frames]
        for name, frames in held_out.items()
    }
    of_all = [error for of_movie in errors.values() for error in of_movie]
    return SizeRecord(
        plan=plan,
        wall_s=wall_s,
        weights_sha256=sha256_of(weights),
        weights_bytes=weights.stat().st_size,
        relative_error_held_out={
            name: median(final for final, _ in of_movie) for name, of_movie in errors.items()
        },
        relative_error=median(final for final, _ in of_all),
        relative_error_of_style=median(of_style for _, of_style in of_all),
        real_nuclei=_of_nuclei(size_model, nuclei),
    )


def true_diameter_px(labels: Labels) -> float:
    """Diameter of labelled cells as Cellpose means it: that of a disk of their median area."""
    from cellpose.utils import diameters

    return float(diameters(labels)[0])


def estimate_px(size_model: Any, frame: Any) -> tuple[float, float]:
    """Diameter that a size model estimates, and what it estimated from the style alone."""
    final, of_style = size_model.eval(frame, channels=[0, 0])
    return float(final), float(of_style)


def _relative_errors(size_model: Any, frame: Any, labels: Labels) -> tuple[float, float]:
    true = true_diameter_px(labels)
    final, of_style = estimate_px(size_model, frame)
    return abs(final / true - 1), abs(of_style / true - 1)


def _of_nuclei(size_model: Any, nuclei: Example | None) -> dict[str, float | str]:
    if nuclei is None:
        return {"relative_error": "not judged: no --nuclei folder was given"}
    frame, labels = nuclei
    true = true_diameter_px(labels)
    final, of_style = estimate_px(size_model, frame)
    return {
        "diameter_px": true,
        "estimated_px": final,
        "estimated_from_style_px": of_style,
        "relative_error": abs(final / true - 1),
    }


def _as_if_with_flows(labels: Labels) -> Any:
    """Labels in the form of labels with flows, (4, Y, X).

    Without flows Cellpose would compute them, for minutes, though a size model never sees them.
    """
    return np.broadcast_to(labels.astype(np.float32), (4, *labels.shape))
