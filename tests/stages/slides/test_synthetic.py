from __future__ import annotations

import errno
import hashlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import openslide
import pytest
import tifffile
import tiffslide
from pydantic import ValidationError

from pyscale_stages.errors import BadInput, ResourceExhausted
from pyscale_stages.slides.synthetic import SlidesParams, write_slide, write_slides
from pyscale_stages.wording import first_problem

SMALL = SlidesParams(slides=2, height_px=600, width_px=1000, tile_px=128, seed=3)
PROGRAM = (
    "import sys, pathlib; from pyscale_stages.slides.synthetic import *; "
    "write_slides(pathlib.Path(sys.argv[1]), SlidesParams.model_validate_json(sys.argv[2]))"
)


@pytest.fixture(scope="module")
def slides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_slides(tmp_path_factory.mktemp("slides") / "small", SMALL)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A slide of as many pixels as a small biopsy has."""
    path = tmp_path_factory.mktemp("large") / "slide.svs"
    write_slide(path, SlidesParams(slides=1))
    return path


def files_of(folder: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.iterdir())
    }


def level(path: Path, number: int) -> npt.NDArray[np.uint8]:
    with tifffile.TiffFile(path) as tiff:
        return np.asarray(tiff.series[0].levels[number].asarray())


def test_a_folder_holds_the_slides_and_what_they_were_made_by(slides):
    assert list(files_of(slides)) == ["slide_000.svs", "slide_001.svs", "slides.json"]
    assert SlidesParams.model_validate_json((slides / "slides.json").read_text()) == SMALL
    assert [path.name for path in slides.parent.iterdir()] == ["small"]


def test_openslide_sees_an_aperio_slide_of_three_levels(slides):
    with openslide.OpenSlide(slides / "slide_000.svs") as slide:
        assert slide.level_dimensions == ((1000, 600), (250, 150), (62, 37))
        assert slide.properties["openslide.vendor"] == "aperio"
        assert slide.properties["openslide.mpp-x"] == "0.5"
        assert slide.properties["openslide.objective-power"] == "20"
        assert slide.properties["openslide.level[0].tile-width"] == "128"
        assert "thumbnail" in slide.associated_images


def test_tiffslide_and_tifffile_see_the_same(slides):
    with tiffslide.TiffSlide(slides / "slide_000.svs") as slide:
        assert slide.level_dimensions == ((1000, 600), (250, 150), (62, 37))
        assert slide.properties["tiffslide.mpp-x"] == 0.5
    with tifffile.TiffFile(slides / "slide_000.svs") as tiff:
        assert tiff.is_svs
        assert not tiff.is_bigtiff
        assert [one.shape[:2] for one in tiff.series[0].levels] == [
            (600, 1000),
            (150, 250),
            (37, 62),
        ]
        assert tiff.series[1].name == "Thumbnail"


def test_readers_decode_the_same_pixels(slides):
    for number in range(3):
        ours = level(slides / "slide_001.svs", number)
        with openslide.OpenSlide(slides / "slide_001.svs") as slide:
            size = slide.level_dimensions[number]
            theirs = np.asarray(slide.read_region((0, 0), number, size))[..., :3]
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
def test_a_lower_level_is_the_mean_of_the_one_above(large):
    full = level(large, 0).astype(np.float32)
    for number in (1, 2):
        small = level(large, number)
        mean = cv2.resize(full, small.shape[:2], interpolation=cv2.INTER_AREA)
        # Both are JPEG, which is where they differ.
        assert np.abs(small - mean).mean() < 5
        assert abs((small - mean).mean()) < 1


def test_otsu_finds_tissue_on_glass(large):
    with openslide.OpenSlide(large) as slide:
        thumbnail = np.asarray(slide.get_thumbnail((1024, 1024)))
    saturation = cv2.cvtColor(thumbnail, cv2.COLOR_RGB2HSV)[..., 1]
    _, tissue = cv2.threshold(saturation, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    share = (tissue > 0).mean()
    assert 0.25 < share < 0.7
    red, green, blue = (thumbnail[tissue > 0][:, c].mean() for c in range(3))
    assert green < blue < red, "tissue is pink to purple"
    assert thumbnail[tissue == 0].mean() > 225, "glass is nearly white"


def test_a_pixel_takes_as_many_bytes_as_one_of_a_stained_slide(large):
    assert 0.1 < large.stat().st_size / 4096**2 < 0.35


def test_tissue_differs_everywhere(large):
    """Tiles that repeat would be read faster than those of a real slide."""
    with tifffile.TiffFile(large) as tiff:
        tiles = [hash(tile.tobytes()) for tile, *_ in tiff.pages[0].segments() if tile is not None]
    assert len(set(tiles)) == len(tiles) == 256


def test_every_slide_shows_another_specimen(slides):
    first, second = (level(slides / f"slide_00{number}.svs", 2) for number in range(2))
    assert np.abs(first.astype(int) - second).mean() > 10


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"seed": 4}])
def test_the_same_parameters_give_the_same_bytes_in_another_process(slides, tmp_path, changes):
    params = SMALL.model_copy(update=changes)
    environment = os.environ | {"PYTHONHASHSEED": "17", "TZ": "Asia/Tokyo"}
    arguments = [sys.executable, "-c", PROGRAM, str(tmp_path / "there"), params.model_dump_json()]
    subprocess.run(arguments, check=True, env=environment)
    here, there = files_of(slides), files_of(tmp_path / "there")
    assert all((here[name] == there[name]) == (not changes) for name in here)


@pytest.mark.parametrize(
    ("height_px", "width_px", "tile_px"),
    [(512, 512, 256), (512, 512, 1024), (1001, 777, 240), (2049, 512, 64)],
)
def test_any_size_is_read_to_its_last_pixel(tmp_path, height_px, width_px, tile_px):
    params = SlidesParams(slides=1, height_px=height_px, width_px=width_px, tile_px=tile_px)
    drawn: list[int] = []
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
    params = SlidesParams(slides=1, height_px=40_000, width_px=40_000)

    def stop(_bytes: int) -> None:
        raise KeyboardInterrupt

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

    def peak_kib(height_px: int) -> int:
        arguments = [sys.executable, "-c", program, str(tmp_path / "s.svs"), str(height_px)]
        done = subprocess.run(arguments, check=True, capture_output=True, text=True)
        return int(done.stdout)

    raw_kib = 3 * 512 * (40_000 - 1024) // 1024
    assert peak_kib(40_000) - peak_kib(1024) < raw_kib / 3


def test_slides_are_kept_if_they_are_the_same_and_nothing_is_overwritten(slides, tmp_path):
    before = files_of(slides)
    assert write_slides(slides, SMALL) == slides
    with pytest.raises(BadInput, match=r"made with other parameters \(mpp, seed\): choose another"):
        write_slides(slides, SMALL.model_copy(update={"seed": 5, "mpp": 0.25}))
    assert files_of(slides) == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    with pytest.raises(BadInput, match="mine exists and holds no synthetic slides of this version"):
        write_slides(tmp_path / "mine", SMALL)


def stops_in_the_second_slide(error: BaseException) -> Any:
    drawn = 0

    def advance(n_bytes: int) -> None:
        nonlocal drawn
        drawn += n_bytes
        if drawn > SMALL.uncompressed_bytes / 2:
            raise error

    return advance


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), ResourceExhausted, "disk of .* is full"),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
    ],
)
def test_a_full_disk_or_an_interruption_amid_a_slide_leaves_nothing_behind(
    tmp_path, error, kind, said
):
    with pytest.raises(kind, match=said):
        write_slides(tmp_path / "s", SMALL, stops_in_the_second_slide(error))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_the_disk_refuses_to_let_grow_leaves_nothing_behind(tmp_path):
    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    arguments = [sys.executable, "-c", PROGRAM, str(tmp_path / "s"), SMALL.model_dump_json()]
    done = subprocess.run(
        arguments, capture_output=True, text=True, check=False, preexec_fn=limited
    )
    assert done.returncode != 0
    assert "would exceed this shell's limit of file size: raise it" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_killed_process_leaves_nothing_under_the_name(tmp_path):
    program = PROGRAM.replace("[2])", "[2]), lambda _: print('drawn', flush=True)")
    arguments = [sys.executable, "-c", program, str(tmp_path / "s"), SMALL.model_dump_json()]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        assert maker.stdout.readline() == "drawn\n"
        maker.kill()
    assert not (tmp_path / "s").exists()
    assert write_slides(tmp_path / "s", SMALL).is_dir()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"slides": 0}, "'slides'"),
        ({"height_px": 511}, "'height_px'"),
        ({"tile_px": 250}, "'tile_px'"),
        ({"mpp": 0}, "'mpp'"),
        ({"quality": 101}, "'quality'"),
        ({"heigth_px": 600}, "did you mean 'height_px'"),
    ],
)
def test_what_cannot_be_made_is_one_sentence(given, said):
    with pytest.raises(ValidationError) as refused:
        SlidesParams.model_validate(given)
    assert said in first_problem(refused.value, SlidesParams)


@pytest.mark.parametrize("quality", [10, 50, 90, 100])
def test_the_bytes_that_slides_take_are_expected_within_a_third(tmp_path, quality):
    params = SlidesParams(slides=1, height_px=2048, width_px=2048, quality=quality)
    write_slide(tmp_path / "one.svs", params)
    ratio = (tmp_path / "one.svs").stat().st_size / params.expected_bytes
    assert 0.75 < ratio < 1.33
