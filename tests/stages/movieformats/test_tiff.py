"""TIFF movies in every codec."""

from typing import get_args

import numpy as np
import pytest
import tifffile

from pyscale_stages.movieformats.codecs import TiffCodec, write_tiff

FRAMES = np.random.default_rng(0).poisson(0.4, (4, 90, 131)).astype(np.uint8)
NUMBERS = {"none": 1, "lzw": 5, "zlib": 8, "zstd": 50000, "jpeg2000": 34712}
"""How TIFF numbers the codecs."""


@pytest.mark.parametrize("codec", get_args(TiffCodec))
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_a_movie_comes_back_exactly(tmp_path, codec, dtype):
    write_tiff(tmp_path / "movie.tif", FRAMES.astype(dtype), codec)
    found = tifffile.imread(tmp_path / "movie.tif")
    assert found.dtype == dtype
    assert np.array_equal(found, FRAMES)


@pytest.mark.parametrize("codec", get_args(TiffCodec))
def test_each_frame_is_one_strip_of_the_named_codec(tmp_path, codec):
    write_tiff(tmp_path / "movie.tif", iter(FRAMES), codec)
    with tifffile.TiffFile(tmp_path / "movie.tif") as file:
        assert [len(page.dataoffsets) for page in file.pages] == [1, 1, 1, 1]
        assert {int(page.compression) for page in file.pages} == {NUMBERS[codec]}


def test_every_codec_but_none_makes_sparse_frames_smaller_and_the_same_bytes_each_time(tmp_path):
    sizes = {}
    for codec in get_args(TiffCodec):
        write_tiff(tmp_path / "movie.tif", FRAMES, codec)
        sizes[codec] = (tmp_path / "movie.tif").stat().st_size
    assert max(size for codec, size in sizes.items() if codec != "none") < FRAMES.nbytes
    assert sizes["none"] > FRAMES.nbytes
    for name in ("one.tif", "two.tif"):
        write_tiff(tmp_path / name, FRAMES, "zstd")
    assert (tmp_path / "one.tif").read_bytes() == (tmp_path / "two.tif").read_bytes()
