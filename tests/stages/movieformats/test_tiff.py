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
