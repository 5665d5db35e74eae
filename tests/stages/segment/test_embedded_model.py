import pytest
import tifffile

from pyscale_stages.hashing import sha256_of
from pyscale_stages.segment.models import find_size_weights
from pyscale_stages.segment.params import EMBEDDED_MODEL, SegmentParams, embedded_model
from pyscale_stages.truth.cells import match_cells
from training.examples import HELD_OUT_SEED, held_out_movies, training_movies
from training.train import TrainingRecord, score


@pytest.fixture(scope="module")
def training():
    text = embedded_model(EMBEDDED_MODEL).with_suffix(".json").read_bytes()
    return TrainingRecord.model_validate_json(text)


def test_its_record_belongs_to_its_weights_and_its_size_model_and_tells_how_right_they_are(
    training,
):
    weights = embedded_model(EMBEDDED_MODEL)
    assert training.weights_sha256 == sha256_of(weights)
    assert training.weights_bytes == weights.stat().st_size < 4e6
    assert len(training.loss_by_epoch) == training.plan.epochs
    assert set(training.ap_iou50_held_out) == set(held_out_movies())
    assert min(training.ap_iou50_held_out.values()) >= 0.85
    assert "ap_iou50" in training.real_nuclei
    weights, size_model = find_size_weights(EMBEDDED_MODEL), training.size_model
    assert size_model.weights_sha256 == sha256_of(weights)
    assert size_model.weights_bytes == weights.stat().st_size
    assert set(size_model.relative_error_held_out) == set(held_out_movies())
    assert size_model.relative_error < 0.05
    assert "estimated_px" in size_model.real_nuclei


@pytest.mark.slow
def test_its_score_on_real_nuclei_is_the_recorded_one(segmenter, training, shared_data):
    folder = shared_data / "stardist-nuclei"
    frame = tifffile.imread(folder / "img2d.tif")
    labels = tifffile.imread(folder / "mask2d.tif")
    diameter_px = training.real_nuclei["diameter_px"]
    recorded = training.real_nuclei["ap_iou50"]
    assert isinstance(diameter_px, float)
    assert isinstance(recorded, float)
    found = score(segmenter, [(frame, labels)], diameter_px=diameter_px)
    # Another processor rounds otherwise, which may move a few of 125 nuclei.
    assert found == pytest.approx(recorded, abs=0.03)


def test_no_held_out_movie_was_or_can_be_trained_on(training):
    plan = training.plan
    trained = {movie.seed for movie in training_movies(plan.movies, plan.seed)}
    assert len(trained) == plan.movies
    assert max(trained) < HELD_OUT_SEED <= min(training.held_out_seeds.values())
    with pytest.raises(ValueError, match="held out"):
        training_movies(2, HELD_OUT_SEED - 1)


@pytest.mark.slow
def test_one_tile_over_a_whole_frame_is_as_right_as_tiles_of_its_training(segmenter, shared_data):
    folder = shared_data / "stardist-nuclei"
    frame, true = (tifffile.imread(folder / name) for name in ("img2d.tif", "mask2d.tif"))
    found, by_one = (
        segmenter.segment(frame, SegmentParams(tile_px=tile_px)) for tile_px in (None, 1024)
    )
    precision, of_one = (match_cells(true, labels).average_precision for labels in (found, by_one))
    assert of_one == pytest.approx(precision, abs=0.02)
    assert match_cells(found, by_one).average_precision >= 0.97
