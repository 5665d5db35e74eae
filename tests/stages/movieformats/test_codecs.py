"""Synthetic movies, as mrcfile, tifffile and imagecodecs find them."""

from typing import get_args

import imagecodecs
import mrcfile
import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st

from pyscale_stages.movieformats.codecs import (
    EER,
    FULL_RUN,
    HEADER_BYTES,
    Camera,
    TiffCodec,
    counting_frames,
    encode_events,
    write_eer,
    write_mrc,
    write_tiff,
)

SMALL = Camera(frames=3, height_px=300, width_px=500, dose_per_px=0.25)


def drawn(camera, seed):
    return np.stack(list(counting_frames(camera, seed)))


def test_the_same_seed_gives_the_same_frames_and_no_two_of_a_movie_are_the_same():
    assert np.array_equal(drawn(SMALL, 3), drawn(SMALL, 3))
    assert not np.array_equal(drawn(SMALL, 3), drawn(SMALL, 4))
    first, second, third = drawn(SMALL, 0)
    assert not np.array_equal(first, second)
    assert not np.array_equal(second, third)
    longer = SMALL.model_copy(update={"frames": 4})
    assert np.array_equal(drawn(longer, 1)[:3], drawn(SMALL, 1))


def test_counts_are_those_of_electrons_that_arrive_independently():
    """Of a Poisson variable the variance is the mean, and exp(-mean) of the pixels stay empty."""
    counts = drawn(SMALL, 0)
    # Five standard errors of the mean of 450,000 pixels.
    assert counts.mean() == pytest.approx(0.25, abs=5 * 0.5 / np.sqrt(counts.size))
    assert counts.var() == pytest.approx(0.25, rel=0.02)
    assert (counts == 0).mean() == pytest.approx(np.exp(-0.25), rel=0.01)


WHOLE = np.random.default_rng(0).integers(0, 100, (5, 30, 47))


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16", "float32", "uint8"])
def test_a_movie_is_a_valid_stack_of_the_same_pixels_in_their_type_or_16_bits(tmp_path, dtype):
    path = tmp_path / "movie.mrc"
    frames = (WHOLE + 150 * (dtype == "uint8")).astype(dtype)
    write_mrc(path, iter(frames))
    assert mrcfile.validate(path)
    with mrcfile.open(path) as file:
        assert file.is_image_stack()
        assert file.data.dtype == ("uint16" if dtype == "uint8" else dtype)
        assert np.array_equal(file.data, frames)
        assert path.stat().st_size == HEADER_BYTES + file.data.nbytes


def test_the_same_frames_give_the_same_file_at_any_time(tmp_path):
    write_mrc(tmp_path / "movie.mrc", WHOLE.astype(np.int16))
    with mrcfile.open(tmp_path / "movie.mrc") as file:
        assert file.get_labels() == []


FRAMES = np.random.default_rng(0).poisson(0.4, (4, 90, 131)).astype(np.uint8)
NUMBERS = {"none": 1, "lzw": 5, "zlib": 8, "zstd": 50000, "jpeg2000": 34712}
"""How TIFF numbers the codecs."""


@pytest.mark.parametrize("codec", get_args(TiffCodec))
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_a_movie_comes_back_exactly_from_a_strip_a_frame_of_the_named_codec(tmp_path, codec, dtype):
    for name in ("one.tif", "two.tif"):
        write_tiff(tmp_path / name, iter(FRAMES.astype(dtype)), codec)
    found = tifffile.imread(tmp_path / "one.tif")
    assert found.dtype == dtype
    assert np.array_equal(found, FRAMES)
    assert (tmp_path / "one.tif").read_bytes() == (tmp_path / "two.tif").read_bytes()
    size = (tmp_path / "one.tif").stat().st_size
    assert (size > found.nbytes) == (codec == "none")
    with tifffile.TiffFile(tmp_path / "one.tif") as file:
        assert [len(page.dataoffsets) for page in file.pages] == [1, 1, 1, 1]
        assert {int(page.compression) for page in file.pages} == {NUMBERS[codec]}


RNG = np.random.default_rng(0)


def sparse(share, frames=4):
    return (RNG.random((frames, 96, 131)) < share).astype(np.uint8)


def decoded(strip, shape):
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
        assert {page.compression for page in file.pages} == {EER}
        assert file.eer_metadata["sensorImageWidth"] == 131
        assert [(series.kind, series.shape) for series in file.series] == [("eer", (4, 96, 131))]


def test_two_electrons_on_a_pixel_are_refused(tmp_path):
    frames = sparse(0.1)
    frames[2, 5, 5] = 2
    with pytest.raises(ValueError, match="at most one electron"):
        write_eer(tmp_path / "movie.eer", frames)
