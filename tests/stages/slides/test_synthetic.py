import hashlib
import os
import subprocess
import sys

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


@pytest.mark.slow
def test_what_may_pass_four_gigabytes_is_a_bigtiff(tmp_path):
    # Stopped at its first row: the kind of file is decided before.
    params = SlidesParams(slides=1, height_px=200_000, width_px=4_000)
    with pytest.raises(KeyboardInterrupt):
        write_slide(tmp_path / "large.svs", params, advance=stop)
    assert (tmp_path / "large.svs").read_bytes()[:4] == b"II+\0"
