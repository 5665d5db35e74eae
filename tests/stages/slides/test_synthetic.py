import hashlib
import os
import subprocess
import sys

import cv2
import numpy as np
import openslide
import pytest
import tifffile
import tiffslide

from pyscale_stages.slides.synthetic import SlidesParams, write_slide, write_slides

SMALL = SlidesParams(slides=2, height_px=600, width_px=1000, seed=3)
PROGRAM = (
    "import sys, pathlib; from pyscale_stages.slides.synthetic import *; "
    "write_slides(pathlib.Path(sys.argv[1]), SlidesParams.model_validate_json(sys.argv[2]))"
)


@pytest.fixture(scope="module")
def slides(tmp_path_factory):
    return write_slides(tmp_path_factory.mktemp("slides") / "small", SMALL)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A slide of many tiles."""
    path = tmp_path_factory.mktemp("large") / "slide.svs"
    write_slide(path, SlidesParams(slides=1, height_px=2048, width_px=2048))
    return path


def files_of(folder):
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.iterdir())
    }


def stop(_bytes):
    raise KeyboardInterrupt


def level(path, number):
    with tifffile.TiffFile(path) as tiff:
        return np.asarray(tiff.series[0].levels[number].asarray())


def test_a_folder_holds_the_slides_and_what_they_were_made_by(slides):
    files = files_of(slides)
    assert list(files) == ["slide_000.svs", "slide_001.svs", "slides.json"]
    assert files["slide_000.svs"] != files["slide_001.svs"]
    assert SlidesParams.model_validate_json((slides / "slides.json").read_text()) == SMALL
    assert [path.name for path in slides.parent.iterdir()] == ["small"]


def test_every_reader_sees_an_aperio_slide_of_three_levels(slides):
    path, sizes = slides / "slide_000.svs", ((1000, 600), (250, 150), (62, 37))
    with openslide.OpenSlide(path) as slide:
        assert slide.level_dimensions == sizes
        assert slide.properties["openslide.vendor"] == "aperio"
        assert slide.properties["openslide.mpp-x"] == "0.5"
        assert slide.properties["openslide.objective-power"] == "20"
        assert slide.properties["openslide.level[0].tile-width"] == "256"
        assert "thumbnail" in slide.associated_images
    with tiffslide.TiffSlide(path) as slide:
        assert slide.level_dimensions == sizes
        assert slide.properties["tiffslide.mpp-x"] == 0.5
    with tifffile.TiffFile(path) as tiff:
        assert tiff.is_svs
        assert not tiff.is_bigtiff
        assert tuple(one.shape[1::-1] for one in tiff.series[0].levels) == sizes
        assert tiff.series[1].name == "Thumbnail"


@pytest.mark.slow
def test_a_lower_level_is_the_mean_of_the_one_above(large):
    full = level(large, 0).astype(np.float32)
    for number in (1, 2):
        small = level(large, number)
        mean = cv2.resize(full, small.shape[:2], interpolation=cv2.INTER_AREA)
        # Both are JPEG, which is where they differ.
        assert np.abs(small - mean).mean() < 5
        assert abs((small - mean).mean()) < 1


def test_a_large_slide_has_tissue_on_glass_that_differs_everywhere_in_as_many_bytes(large):
    with openslide.OpenSlide(large) as slide:
        thumbnail = np.asarray(slide.get_thumbnail((1024, 1024)))
    saturation = cv2.cvtColor(thumbnail, cv2.COLOR_RGB2HSV)[..., 1]
    _, tissue = cv2.threshold(saturation, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    share = (tissue > 0).mean()
    assert 0.25 < share < 0.7
    red, green, blue = (thumbnail[tissue > 0][:, c].mean() for c in range(3))
    assert green < blue < red, "tissue is pink to purple"
    assert thumbnail[tissue == 0].mean() > 225, "glass is nearly white"
    assert 0.1 < large.stat().st_size / 2048**2 < 0.35
    # Tiles that repeat would be read faster than those of a real slide.
    with tifffile.TiffFile(large) as tiff:
        tiles = [hash(tile.tobytes()) for tile, *_ in tiff.pages[0].segments() if tile is not None]
    assert len(set(tiles)) == len(tiles) == 64


@pytest.mark.slow
def test_the_same_parameters_give_the_same_bytes_in_another_process(slides, tmp_path):
    environment = os.environ | {"PYTHONHASHSEED": "17", "TZ": "Asia/Tokyo"}
    arguments = [sys.executable, "-c", PROGRAM, str(tmp_path / "there"), SMALL.model_dump_json()]
    subprocess.run(arguments, check=True, env=environment)
    assert files_of(slides) == files_of(tmp_path / "there")
    other = write_slides(tmp_path / "other", SMALL.model_copy(update={"seed": 4}))
    assert not set(files_of(slides).items()) & set(files_of(other).items())


@pytest.mark.parametrize(("height_px", "width_px"), [(512, 512), (1001, 777), (2049, 513)])
def test_any_size_is_read_to_its_last_pixel(tmp_path, height_px, width_px):
    params = SlidesParams(slides=1, height_px=height_px, width_px=width_px)
    drawn = []
    write_slide(tmp_path / "one.svs", params, advance=drawn.append)
    assert sum(drawn) == params.uncompressed_bytes
    with openslide.OpenSlide(tmp_path / "one.svs") as slide:
        sizes = [(width_px // step, height_px // step) for step in (1, 4, 16)]
        assert list(slide.level_dimensions) == sizes
        corner = slide.read_region((width_px - 16, height_px - 16), 0, (16, 16))
        assert np.asarray(corner)[..., 3].min() == 255, "every pixel lies on the slide"


def test_the_size_of_pixels_is_that_asked_for_and_nuclei_grow_with_it(tmp_path):
    found = {}
    for mpp in (0.25, 1.0):
        path = tmp_path / f"{mpp}.svs"
        write_slide(path, SlidesParams(height_px=1024, width_px=1024, mpp=mpp, seed=1))
        with openslide.OpenSlide(path) as slide:
            assert float(slide.properties["openslide.mpp-x"]) == mpp
            assert float(slide.properties["openslide.objective-power"]) == 10 / mpp
        blue_black = (level(path, 0)[..., 0] < 160).astype(np.uint8)
        areas = cv2.connectedComponentsWithStats(blue_black)[2][1:, cv2.CC_STAT_AREA]
        found[mpp] = np.median(areas[areas > 3])
    assert found[0.25] > 6 * found[1.0]


@pytest.mark.slow
def test_what_may_pass_four_gigabytes_is_a_bigtiff(tmp_path):
    # Stopped at its first row: the kind of file is decided before.
    params = SlidesParams(slides=1, height_px=200_000, width_px=4_000)
    with pytest.raises(KeyboardInterrupt):
        write_slide(tmp_path / "large.svs", params, advance=stop)
    assert (tmp_path / "large.svs").read_bytes()[:4] == b"II+\0"


@pytest.mark.slow
def test_memory_does_not_grow_with_the_height(tmp_path):
    program = (
        "import sys; from pathlib import Path; "
        "from pyscale_stages.measure.usage import peak_rss_bytes; "
        "from pyscale_stages.slides.synthetic import *; "
        "write_slide(Path(sys.argv[1]), SlidesParams(slides=1, height_px=int(sys.argv[2]), "
        "width_px=512)); print(peak_rss_bytes() // 1024)"
    )

    def peak_kib(height_px):
        arguments = [sys.executable, "-c", program, str(tmp_path / "s.svs"), str(height_px)]
        done = subprocess.run(arguments, check=True, capture_output=True, text=True)
        return int(done.stdout)

    raw_kib = 3 * 512 * (12_000 - 1024) // 1024
    assert peak_kib(12_000) - peak_kib(1024) < raw_kib / 3


@pytest.mark.parametrize("mpp", [0.25, 0.5, 1.0])
def test_the_bytes_that_slides_take_are_expected_within_a_third(tmp_path, mpp):
    params = SlidesParams(slides=1, height_px=1024, width_px=1024, mpp=mpp)
    write_slide(tmp_path / "one.svs", params)
    ratio = (tmp_path / "one.svs").stat().st_size / params.expected_bytes
    assert 0.75 < ratio < 1.33
