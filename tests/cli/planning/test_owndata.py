from dataclasses import replace

import numpy as np
import pytest

from pyscale.data.ensure import find_own_data
from pyscale.errors import UserError
from pyscale.planning.planentry import Dataset
from pyscale.planning.planner import own_data_of
from pyscale.planning.suite import load_suite
from pyscale.references.workid import work_id_of
from pyscale.settings import Settings
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest
from pyscale.store.provenance import read_provenance
from pyscale.store.tables import build_tables
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.reading import Reading
from refusals import refused

TEXT = """
name = "own"
summary = "Two datasets"

[stages.segment]
inputs = { frames = "movie" }

[stages.cells]
stage = "segment"
data = "few.ome.tif"
inputs = { frames = "movie" }

[stages.track]
inputs = { labels = "cells" }

[stages.contact]
data = "few.ome.tif"
inputs = { labels = "truth" }
"""


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "own.toml").write_text(TEXT)
    return load_suite(str(tmp_path / "own.toml"))


@pytest.fixture
def few(tmp_path):
    truth = tmp_path / "few" / "truth"
    (truth / "camera").mkdir(parents=True)
    for file in (tmp_path / "few" / "few.ome.tif", truth / "camera" / "labels_ch0.ome.tif"):
        write_movie(file, np.zeros((2, 6, 6), np.uint16), "TYX")
    movie = tmp_path / "few" / "few.ome.tif"
    return Dataset(movie, frames=2, reading=Reading(axes="TYX"), truth=truth)


@pytest.fixture
def planned(suite, make_of):
    return lambda few, *workers: make_of(
        suite, workers or (1, 2), repeats=1, own_data={"few.ome.tif": few}
    )


def test_entries_read_their_dataset_or_its_true_labels(planned, few, dataset):
    plan = planned(few)
    assert few.truth is not None
    labels = few.truth / "camera" / "labels_ch0.ome.tif"
    read = {trial.entry: (trial.inputs[0].path, plan.reading_of(trial)) for trial in plan.trials}
    assert read == {
        "segment": (dataset.movie, None),
        "cells": (few.movie, few.reading),
        "track": (None, None),
        "contact": (labels, None),
    }
    assert plan.on_what == "on cancer-migration (8 frames) and 1 other dataset"
    # Windows follow the dataset of each entry.
    windows = {trial.entry: trial.windows for trial in plan.trials if trial.workers == 2}
    assert windows["segment"] == ((0, 4), (4, 8))
    assert windows["cells"] == windows["track"] == windows["contact"] == ((0, 1), (1, 2))


def test_only_datasets_of_what_is_measured_are_needed(suite, make_of):
    assert own_data_of(suite, []) == ("few.ome.tif",)
    assert own_data_of(suite, ["track"]) == ("few.ome.tif",)
    assert own_data_of(suite, ["segment"]) == ()
    plan = make_of(suite, (1,), repeats=1, only=["segment"])
    assert {trial.entry for trial in plan.trials} == {"segment"}


def test_more_workers_than_frames_and_labels_of_other_movies_are_refused(planned, few, dataset):
    with refused(UserError):
        planned(few, 3)
    with refused(UserError):
        planned(dataset)


def test_every_file_that_is_read_is_recorded(planned, few, tmp_path):
    run = RunFolder.create(tmp_path / "runs", planned(few))
    assert [file.name for file in read_provenance(run.path).input_files] == [
        "movie.ome.tif",
        "few.ome.tif/few.ome.tif",
        "few.ome.tif/camera/labels_ch0.ome.tif",
    ]
    assert build_manifest(run, build_tables(run).sources)["input"]["own_data"][0]["frames"] == 2


def test_work_on_another_dataset_is_other_work(planned, few, tmp_path):
    first = work_id_of(RunFolder.create(tmp_path / "a", planned(few)))
    assert work_id_of(RunFolder.create(tmp_path / "b", planned(few))) == first
    write_movie(few.movie, np.ones((2, 6, 6), np.uint16), "TYX")
    assert work_id_of(RunFolder.create(tmp_path / "c", planned(few))) != first


def test_datasets_of_entries_may_be_of_any_kind_but_slides(tmp_path, shared_data):
    def found(name):
        return find_own_data(Settings(data_folder=tmp_path, mirror=str(shared_data)), [name])

    assert found("stardist-nuclei")["stardist-nuclei"].frames == 1
    assert found("hela-tracking")["hela-tracking"].frames == 92
    with refused(UserError):
        found("cmu-1")


def test_a_truth_in_camera_coordinates_judges_what_was_not_moved(make_of, dataset, few):
    assert few.truth is not None
    labels = few.truth / "camera" / "labels_ch0.ome.tif"
    own = replace(dataset, own_truth=labels)
    plan = make_of(load_suite("pipeline"), dataset=own)
    assert {trial.truth for trial in plan.trials} == {None}
    assert [sentence.partition(":")[0] for sentence in plan.unjudged] == [
        f"No quality of {entry} against the truth"
        for entry in ("register_denoise", "segment", "contact", "track")
    ]
    assert "its input was registered" in plan.unjudged[1]
    unmoved = {"register_denoise": {"registration": False}}
    still = make_of(load_suite("pipeline"), dataset=own, stages=unmoved)
    judged = {trial.entry: trial.truth for trial in still.trials if trial.truth}
    assert judged == {"segment": labels, "contact": labels}
    assert "labels_ch0.ome.tif holds no tracks" in still.unjudged[1]
    assert still.truths == {"truth": labels}
