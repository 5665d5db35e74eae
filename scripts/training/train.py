"""Trains the embedded models: `make model`.

The network is Cellpose 3's own, narrower than published ones, and so is the training; a size model,
which estimates diameters, is trained for it. Both see only synthetic frames; a record beside the
weights says from what and how well they were made.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from pyscale_stages.atomic import atomic_path, write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.errors import StageError
from pyscale_stages.hashing import sha256_of
from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.segment import calls, models
from pyscale_stages.segment.networks import Cellpose3Segmenter, build_net
from pyscale_stages.segment.params import EMBEDDED_MODEL, EMBEDDED_PURPOSE, SegmentParams
from pyscale_stages.truth.cells import Matches, match_cells
from training.examples import (
    HELD_OUT_SEED,
    Example,
    examples,
    held_out_movies,
    training_examples,
)
from training.sizemodel import (
    SizePlan,
    SizeRecord,
    size_record,
    train_size_model,
    true_diameter_px,
)

NUCLEI_FILES = ("img2d.tif", "mask2d.tif")


class TrainingPlan(Record):
    """What the training is made of; the defaults are those of the embedded model."""

    widths: tuple[int, ...] = Field((2, 16, 32, 64, 64), description="Channels of each level")
    diameter_px: float = Field(20.0, description="Diameter that cells are rescaled to")
    movies: int = Field(90, description="Synthetic movies, each of two frames")
    epochs: int = Field(110, description="Passes over a random part of the frames")
    frames_per_epoch: int = Field(48, description="Frames of one pass")
    batch_size: int = Field(8, description="Crops of one step")
    crop_px: int = Field(128, description="Side of a crop")
    scale_range: float = Field(
        0.8, description="Crops are also scaled by 1 - half of it to 1 + half of it"
    )
    learning_rate: float = Field(0.005, description="Of AdamW; rises at first, falls at the end")
    weight_decay: float = Field(1e-5, description="Of AdamW")
    seed: int = Field(1, ge=0, lt=HELD_OUT_SEED, description="Of the movies and the network")
    threads: int = Field(2, ge=1, description="Threads of torch")
    size_model: SizePlan = Field(SizePlan(), description="Of the size model")


class TrainingRecord(Record):
    """How the embedded model came to be and what it scores."""

    purpose: str = Field(EMBEDDED_PURPOSE, description="What the model is good for")
    plan: TrainingPlan
    training_frames: int
    training_cells: int
    trained_diameter_px: float = Field(description="Mean diameter of the training cells")
    loss_by_epoch: tuple[float, ...]
    wall_s: float = Field(
        description="Rendering and training the network, without size model and scoring"
    )
    versions: dict[str, str]
    weights_sha256: str
    weights_bytes: int
    held_out_seeds: dict[str, int]
    ap_iou50_held_out: dict[str, float] = Field(
        description="Average precision at IoU 0.5 on synthetic movies that were not trained on"
    )
    real_nuclei: dict[str, float | str] = Field(
        description="The same on real nuclei with reference labels, where they were given"
    )
    size_model: SizeRecord


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, score and record a model; return the exit code."""
    parser = argparse.ArgumentParser(prog="train.py")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="for weights and record"
    )
    parser.add_argument(
        "--nuclei", type=Path, metavar="FOLDER", help=f"real nuclei: {', '.join(NUCLEI_FILES)}"
    )
    parser.add_argument("--epochs", type=int, default=TrainingPlan().epochs)
    parser.add_argument("--movies", type=int, default=TrainingPlan().movies)
    parser.add_argument("--seed", type=int, default=TrainingPlan().seed)
    parser.add_argument("--threads", type=int, default=TrainingPlan().threads)
    options = parser.parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    plan = TrainingPlan(
        epochs=options.epochs, movies=options.movies, seed=options.seed, threads=options.threads
    )
    try:
        record = train_embedded_model(plan, options.output, options.nuclei)
    except StageError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(record.model_dump_json(indent=2, exclude={"loss_by_epoch"}))
    return 0


def train_embedded_model(plan: TrainingPlan, folder: Path, nuclei: Path | None) -> TrainingRecord:
    """Train a model, score it as a user would run it, and write weights and record.

    Parameters
    ----------
    plan : TrainingPlan
    folder : Path
        Where `pyscale-tiny.pt`, `pyscale-tiny-size.json` and `pyscale-tiny.json` go.
    nuclei : Path, optional
        Folder with a real frame and its reference labels.

    Raises
    ------
    MissingPart
        If Cellpose 3 is not installed.
    """
    models.refuse_other_version("to train", needed=3, installed=models.installed_cellpose())
    models.import_cellpose(3)
    cpu = calls.prepared_device("cpu", threads=plan.threads, seed=plan.seed)
    start = time.monotonic()
    known = training_examples(plan.movies, plan.seed)
    net, losses = _trained(plan, known)
    wall_s = time.monotonic() - start
    weights = folder / f"{EMBEDDED_MODEL}.pt"
    # Given a path, torch keeps its random name in the file; given a file, the bytes repeat.
    with atomic_path(weights) as temporary, temporary.open("wb") as file:
        net.save_model(file)
    size_weights = folder / f"{EMBEDDED_MODEL}-size.json"
    size_wall_s = train_size_model(net, known, plan.size_model, size_weights)
    segmenter = Cellpose3Segmenter(weights, cpu, size_weights)
    real = None if nuclei is None else _nuclei_example(nuclei)
    held_out = held_out_movies()
    record = TrainingRecord(
        plan=plan,
        training_frames=len(known),
        training_cells=sum(len(np.unique(labels)) - 1 for _, labels in known),
        trained_diameter_px=float(net.diam_labels.item()),
        loss_by_epoch=losses,
        wall_s=wall_s,
        versions={name: version(name) for name in ("cellpose", "torch", "numpy", "scipy")},
        weights_sha256=sha256_of(weights),
        weights_bytes=weights.stat().st_size,
        held_out_seeds={name: movie.seed for name, movie in held_out.items()},
        ap_iou50_held_out={
            name: score(segmenter, examples(movie), diameter_px=2 * movie.radius_px)
            for name, movie in held_out.items()
        },
        real_nuclei=_score_on_nuclei(segmenter, real, "" if nuclei is None else nuclei.name),
        size_model=size_record(
            plan.size_model,
            size_wall_s,
            size_weights,
            segmenter.size_model,
            held_out={name: examples(movie) for name, movie in held_out.items()},
            nuclei=real,
        ),
    )
    write_atomically(weights.with_suffix(".json"), record.model_dump_json(indent=1) + "\n")
    return record


def score(
    segmenter: models.Segmenter, frames: Iterable[Example], *, diameter_px: float | None
) -> float:
    """Average precision at IoU 0.5 over all cells of some frames."""
    params = SegmentParams(diameter_px=diameter_px)
    matches = (match_cells(labels, segmenter.segment(frame, params)) for frame, labels in frames)
    return sum(matches, start=Matches()).average_precision


def _trained(plan: TrainingPlan, known: list[Example]) -> tuple[Any, tuple[float, ...]]:
    from cellpose.train import train_seg

    net = build_net(list(plan.widths))
    net.diam_mean.data.fill_(plan.diameter_px)
    with tempfile.TemporaryDirectory() as folder:
        _, losses, _ = train_seg(
            net,
            train_data=[frame for frame, _ in known],
            train_labels=[labels.astype(np.int32) for _, labels in known],
            channels=[0, 0],
            n_epochs=plan.epochs,
            nimg_per_epoch=plan.frames_per_epoch,
            batch_size=plan.batch_size,
            bsize=plan.crop_px,
            scale_range=plan.scale_range,
            learning_rate=plan.learning_rate,
            weight_decay=plan.weight_decay,
            save_path=folder,
            save_every=plan.epochs + 1,
        )
    return net, tuple(round(float(loss), 4) for loss in losses)


def _score_on_nuclei(
    segmenter: models.Segmenter, nuclei: Example | None, source: str
) -> dict[str, float | str]:
    if nuclei is None:
        return {"ap_iou50": "not scored: no --nuclei folder was given"}
    median_px = true_diameter_px(nuclei[1])
    return {
        "source": source,
        "nuclei": float(len(np.unique(nuclei[1])) - 1),
        "diameter_px": median_px,
        "ap_iou50": score(segmenter, [nuclei], diameter_px=median_px),
        "ap_iou50_default_diameter": score(segmenter, [nuclei], diameter_px=None),
    }


def _nuclei_example(folder: Path) -> Example:
    frame, labels = (_single_frame(folder / name) for name in NUCLEI_FILES)
    return frame, labels


def _single_frame(path: Path) -> Pixels:
    frame: Pixels = Movie.open(path).read(0, 1, channel=0)[0]
    return frame


if __name__ == "__main__":
    sys.exit(main())
