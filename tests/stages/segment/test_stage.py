import shutil

import numpy as np
import pytest
import tifffile

from pyscale_stages.hashing import sha256_of
from pyscale_stages.movie import Movie
from pyscale_stages.segment.labels import LABELS_FILE
from pyscale_stages.segment.params import embedded_model

pytestmark = pytest.mark.usefixtures("kept_model")


def labels_in(folder):
    movie = Movie.open(folder / LABELS_FILE)
    return movie.read(0, movie.n_frames, channel=0)


def test_every_frame_gets_labels_from_1_to_the_number_of_its_cells_in_named_axes(whole):
    labels = labels_in(whole)
    assert labels.shape == (5, 128, 144)
    assert labels.dtype == np.uint16
    for frame in labels:
        values = np.unique(frame)
        assert len(values) > 10
        np.testing.assert_array_equal(values, np.arange(len(values)))
    with tifffile.TiffFile(whole / LABELS_FILE) as tiff:
        assert tiff.is_ome
        assert tiff.series[0].axes == "TYX"
        assert len(tiff.pages) == 5


def test_merging_refuses_labels_that_are_not_those_of_the_window(bench, windows):
    broken = shutil.copytree(windows[1], bench.folder / "broken")
    shutil.copy(windows[0] / LABELS_FILE, broken)
    bench.refused("merge", windows[0], broken, windows[2])


def test_the_record_counts_frames_and_cells_and_names_the_weights(segmented):
    folder, result = segmented
    assert result.counters.frames == 5
    assert result.counters.objects == sum(int(frame.max()) for frame in labels_in(folder))
    assert result.versions["weights_sha256"] == sha256_of(embedded_model("pyscale-tiny"))
    assert result.versions["cellpose"].startswith("3.")
