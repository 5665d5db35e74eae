"""Where tissue is found, beside what wsistream finds in the same slides."""

import cv2
import numpy as np
import pytest
import tifffile

from pyscale_stages.errors import BadInput
from pyscale_stages.slides import tissue
from pyscale_stages.slides.reading import open_slide
from pyscale_stages.slides.tissue import tissue_mask
from refusals import refused


def _their_picture_and_mask(path):
    backends = pytest.importorskip("wsistream.backends")
    from wsistream.slide import SlideHandle
    from wsistream.tissue import OtsuTissueDetector

    with SlideHandle(path, backends.OpenSlideBackend()) as slide:
        seen = slide.get_thumbnail((2048, 2048))
        width, height = slide.properties.dimensions
    downsample = max(width / seen.shape[1], height / seen.shape[0])
    return seen, OtsuTissueDetector().detect(seen), downsample


@pytest.mark.slow
@pytest.mark.parametrize(
    ("height", "width", "steps", "reader"),
    [
        (603, 751, (1, 2, 4), "tifffile"),
        (603, 751, (1, 2, 4), "openslide"),
        (803, 4111, (1,), "tifffile"),
        (4444, 777, (1, 2), "tifffile"),
        (4444, 777, (1, 2), "openslide"),
        (1203, 9111, (1, 4), "tifffile"),
        (1048, 2050, (1,), "tifffile"),
    ],
)
def test_tissue_is_found_exactly_where_wsistream_finds_it(
    make_svs, picture, reader, height, width, steps
):
    large = cv2.resize(picture, (width, height), interpolation=cv2.INTER_LINEAR)
    path = make_svs(pixels=large, steps=steps)
    seen, mask, downsample = _their_picture_and_mask(path)
    slide = open_slide(path, reader)
    found = tissue_mask(slide)
    np.testing.assert_array_equal(tissue.picture(slide), seen)
    np.testing.assert_array_equal(found.mask, mask)
    assert found.downsample == downsample
    assert found.mask.dtype == np.dtype(np.bool_)
    assert 0.3 < found.mask.mean() < 0.9


@pytest.mark.slow
def test_a_large_level_is_looked_at_in_bands_with_the_same_outcome(make_svs, picture, monkeypatch):
    large = cv2.resize(picture, (1199, 9007), interpolation=cv2.INTER_LINEAR)
    slide = open_slide(make_svs(pixels=large, steps=(1,)))
    at_once = tissue.picture(slide)
    read = []
    whole = type(slide).read_on_glass

    def noted(self, level, y0, *rest):
        read.append(y0)
        return whole(slide, level, y0, *rest)

    monkeypatch.setattr(type(slide), "read_on_glass", noted)
    monkeypatch.setattr(tissue, "BAND_PIXELS", 250_000)
    np.testing.assert_array_equal(tissue.picture(slide), at_once)
    assert len(read) > 40


def test_dirt_is_not_tissue_and_holes_in_tissue_are_closed(make_svs):
    glass = np.full((512, 512, 3), 240, np.uint8)
    glass[100:300, 100:300] = (170, 80, 150)
    glass[200:202, 200:202] = 240
    glass[400:408, 400:408] = 20
    found = tissue_mask(open_slide(make_svs(pixels=glass, steps=(1,), compression="lzw",
                                            compressionargs=None, subsampling=None)))  # fmt: skip
    assert found.downsample == 1
    assert found.mask[110:290, 110:290].all()
    assert not found.mask[390:420, 390:420].any()
    assert found.mask.sum() == pytest.approx(200 * 200, rel=0.03)


def test_a_grey_slide_has_tissue_and_one_of_16_bits_is_refused(tmp_path, picture):
    options = {"tile": (128, 128), "photometric": "minisblack"}
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    tifffile.imwrite(tmp_path / "grey.tif", grey, **options)
    assert 0.3 < tissue_mask(open_slide(tmp_path / "grey.tif")).mask.mean() < 0.9
    tifffile.imwrite(tmp_path / "deep.tif", grey.astype(np.uint16), **options)
    with refused(BadInput):
        tissue_mask(open_slide(tmp_path / "deep.tif"))


def test_a_picture_has_the_proportions_of_its_slide(make_svs):
    assert tissue.picture(open_slide(make_svs()), 100).shape == (80, 100, 3)
