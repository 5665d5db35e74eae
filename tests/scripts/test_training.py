"""Training: a short one leaves weights that run and a record that says how."""

import pytest

from pyscale_stages.hashing import sha256_of
from pyscale_stages.segment.sizemodel import read_size_weights
from refusals import refused
from training import train
from training.examples import examples, held_out_movies, training_movies
from training.sizemodel import SizePlan
from training.train import TrainingPlan, TrainingRecord, train_embedded_model

SHORT = TrainingPlan(
    widths=(2, 4, 8),
    movies=1,
    epochs=2,
    frames_per_epoch=2,
    batch_size=2,
    crop_px=64,
    threads=1,
    size_model=SizePlan(passes=1, crop_px=64),
)


@pytest.mark.slow
def test_the_same_plan_gives_the_same_weights(tmp_path, monkeypatch):
    # Scores of one small frame are made as those of all are.
    frame = {"frames": 1, "cell_types": 1, "cells": 14, "height_px": 128, "width_px": 128}
    one = {"small": held_out_movies()["small"].model_copy(update=frame)}
    monkeypatch.setattr(train, "held_out_movies", lambda: one)
    records = [train_embedded_model(SHORT, tmp_path / name, None) for name in ("a", "b")]
    for name, record in zip(("a", "b"), records, strict=True):
        weights = tmp_path / name / "pyscale-tiny.pt"
        written = weights.with_suffix(".json").read_bytes()
        assert TrainingRecord.model_validate_json(written) == record
        assert record.weights_sha256 == sha256_of(weights)
        assert record.plan == SHORT
        assert len(record.loss_by_epoch) == 2
        assert record.ap_iou50_held_out.keys() == record.held_out_seeds.keys() == {"small"}
        size_weights = tmp_path / name / "pyscale-tiny-size.json"
        assert record.size_model.weights_sha256 == sha256_of(size_weights)
        # The style of a network is as wide as its last level.
        assert len(read_size_weights(size_weights).slopes) == SHORT.widths[-1]
    assert records[0].weights_sha256 == records[1].weights_sha256
    assert records[0].ap_iou50_held_out == records[1].ap_iou50_held_out
    of_size = [record.size_model.model_dump(exclude={"wall_s"}) for record in records]
    assert of_size[0] == of_size[1]


def test_training_movies_vary_and_repeat_with_their_seed():
    movies = training_movies(12, seed=5)
    assert movies == training_movies(12, seed=5)
    assert {movie.cell_types for movie in movies} == {1, 2}
    radii = [movie.radius_px for movie in movies]
    assert min(radii) < 8 < 12 < max(radii)
    # A crop shows about the same number of cells, small or large.
    assert all(24 <= movie.height_px / movie.radius_px <= 28 for movie in movies)


def test_examples_pair_each_frame_with_labels_of_its_cells():
    movie = held_out_movies()["default"]
    pairs = list(examples(movie))
    assert len(pairs) == movie.frames * movie.cell_types
    for frame, labels in pairs:
        assert frame.shape == labels.shape == movie.shape_yx
        assert frame[labels > 0].mean() > frame[labels == 0].mean()


def test_training_without_cellpose_3_says_how_to_get_it(tmp_path, monkeypatch):
    from pyscale_stages.errors import MissingPart
    from pyscale_stages.segment import models

    monkeypatch.setattr(models, "version", lambda _name: "4.2.1.1")
    with refused(MissingPart):
        train_embedded_model(SHORT, tmp_path, None)
