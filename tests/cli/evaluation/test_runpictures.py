"""A run's pictures are made of the outputs that it kept, and of nothing else."""

import shutil

import numpy as np
import polars as pl
import pytest
import tifffile

from pyscale.evaluation.runpictures import pictures_of
from pyscale.store.folder import RunFolder


def keep(run, stage, file, content):
    """Leave a file in the output of a stage at the baseline, as its task would have."""
    (trial,) = (one for one in run.plan.trials if one.is_reference and one.stage == stage)
    output = run.output(trial)
    output.mkdir(parents=True, exist_ok=True)
    if isinstance(content, pl.DataFrame):
        content.write_parquet(output / file)
    else:
        tifffile.imwrite(output / file, content, metadata={"axes": "TYX"}, ome=True)


@pytest.fixture
def labels(run):
    """Two cells in every frame of the run's movie."""
    assert run.plan.movie is not None
    found = np.zeros((4, 64, 64), np.uint16)
    found[:, 8:20, 8:20], found[:, 40:50, 40:50] = 1, 2
    return found


TRACKS = pl.DataFrame(
    {
        "frame": [0, 1, 2, 0, 1],
        "track_id": [1, 1, 1, 2, 2],
        "y_px": [14.0, 14.0, 15.0, 45.0, 45.0],
        "x_px": [14.0, 15.0, 16.0, 45.0, 45.0],
    }
)


@pytest.fixture
def kept(run, labels):
    """A run that kept frames, labels and tracks."""
    keep(run, "register_denoise", "frames.ome.tif", labels * 100)
    keep(run, "segment", "labels.ome.tif", labels)
    keep(run, "track", "tracks.parquet", TRACKS)
    return run


def test_a_run_that_kept_its_outputs_has_a_frame_outlines_and_tracks(kept, tmp_path):
    strip = pictures_of(kept)
    assert strip is not None
    assert [one.title for one in strip.pictures] == ["Raw", "Outlines, N = 1", "Tracks, N = 1"]
    assert "2 objects" in strip.pictures[1].alt
    assert "1 objects" in strip.pictures[2].alt  # The other ended before this frame.
    assert strip.about == "Frame 3 of 4"
    assert [one.place for one in strip.pictures[1:]] == [
        "tasks/segment-n1-b1/w0/out",
        "tasks/track-n1-b1/w0/out",
    ]
    assert sum(len(one.png) for one in strip.pictures) <= 200_000
    # Brackets in a path are no pattern.
    elsewhere = shutil.copytree(kept.path, tmp_path / "[runs]" / kept.path.name)
    strip = pictures_of(RunFolder(elsewhere))
    assert strip is not None
    assert strip.pictures[-1].title == "Tracks, N = 1"


def test_a_movie_that_is_gone_has_no_raw_picture_and_cells_without_tracks_none_of_them(kept):
    assert kept.plan.movie is not None
    kept.plan.movie.unlink()
    (tracks,) = kept.path.rglob("tracks.parquet")
    shutil.rmtree(tracks.parent)
    strip = pictures_of(kept)
    assert strip is not None
    assert [one.title for one in strip.pictures] == ["Outlines, N = 1"]


def test_a_run_without_outputs_or_with_damaged_ones_has_no_strip(run, labels):
    assert pictures_of(run) is None
    keep(run, "segment", "labels.ome.tif", labels)
    assert pictures_of(run) is None
    keep(run, "register_denoise", "frames.ome.tif", labels)
    (damaged,) = run.path.glob("tasks/segment-*/w0/out/labels.ome.tif")
    damaged.write_bytes(b"II*\0nothing")
    told = []
    assert pictures_of(run, told.append) is None
    assert [one.partition(":")[0] for one in told] == ["the page has no pictures of the outputs"]
