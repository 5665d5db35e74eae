"""EER movies, as tifffile and imagecodecs decode them."""

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st

from pyscale_stages.movieformats.eer import COMPRESSION, FULL_RUN, encode_events, write_eer

RNG = np.random.default_rng(0)


def sparse(share, frames=4):
    return (RNG.random((frames, 96, 131)) < share).astype(np.uint8)


def decoded(strip, shape):
    import imagecodecs

    return imagecodecs.eer_decode(strip, shape, FULL_RUN.bit_length(), 2, 2)


@pytest.mark.parametrize("dtype", [np.uint8, bool])
@pytest.mark.parametrize("share", [0.0, 0.0002, 0.004, 0.1, 0.6, 1.0])
def test_a_movie_comes_back_exactly_however_sparse(tmp_path, share, dtype):
    frames = sparse(share)
    write_eer(tmp_path / "movie.eer", iter(frames.astype(dtype)))
    assert np.array_equal(tifffile.imread(tmp_path / "movie.eer"), frames)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 400), max_size=30), st.integers(0, 400))
def test_any_gaps_between_electrons_are_exact(gaps, after):
    hits = np.cumsum(np.array(gaps, np.int64) + 1) - 1
    frame = np.zeros((1, (int(hits[-1]) + 1 if gaps else 0) + after + 1), np.uint8)
    frame[0, hits] = 1
    assert np.array_equal(decoded(encode_events(frame), frame.shape), frame)


def test_tifffile_knows_it_as_eer_with_its_metadata(tmp_path):
    write_eer(tmp_path / "movie.eer", sparse(0.1))
    with tifffile.TiffFile(tmp_path / "movie.eer") as file:
        assert file.is_eer
        assert file.is_bigtiff
        assert {page.compression for page in file.pages} == {COMPRESSION}
        assert file.eer_metadata["sensorImageWidth"] == 131
        assert [(series.kind, series.shape) for series in file.series] == [("eer", (4, 96, 131))]


def test_two_electrons_on_a_pixel_are_refused(tmp_path):
    frames = sparse(0.1)
    frames[2, 5, 5] = 2
    with pytest.raises(ValueError, match="at most one electron"):
        write_eer(tmp_path / "movie.eer", frames)
