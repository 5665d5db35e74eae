"""The shipped data set: what it delivers, and which slides end it."""

import shutil
from itertools import islice

import numpy as np
import pytest
import tifffile
import torch
from torch.utils.data import DataLoader

from atleastone import some
from omezarr import write_zarr
from pyscale_stages.errors import BadInput
from pyscale_stages.loader.batches import told
from pyscale_stages.loader.factories import dataset_of
from pyscale_stages.loader.stage import LoaderParams
from pyscale_stages.slides.synthetic import SlidesParams, write_slides
from refusals import refused

SLIDES = SlidesParams(slides=3, height_px=2304, width_px=640, seed=4)
"""Higher than the picture in which tissue is found, so that it is a smaller picture of them."""
MORE_THAN_A_PIPE_HOLDS = 2500
"""Slides opened, of each of which wsistream counts what a pipe of 64 KiB has to hold."""
WHERE = ("slide_path", "x", "y", "level", "patch_size", "mpp")


@pytest.fixture(scope="module", name="made")
def made_slides(tmp_path_factory):
    """Paths of three made-up slides at 0.5 micrometres per pixel."""
    folder = write_slides(tmp_path_factory.mktemp("loader") / "slides", SLIDES)
    return [str(path) for path in sorted(folder.glob("*.svs"))]


def patches(slides, count, seed=7, **params):
    """The first patches that a loader gives, one a batch."""
    chosen = LoaderParams.model_validate(
        {"pool_size": 2, "patches_per_slide": 5, "num_workers": 0} | params
    )
    loader = DataLoader(
        dataset_of(chosen, slides, seed),
        batch_size=None,
        num_workers=chosen.num_workers,
        multiprocessing_context=chosen.start_method if chosen.num_workers else None,
    )
    with told(chosen):
        return list(islice(loader, count))


def places(items):
    return [tuple(item[key] for key in WHERE) for item in items]


def assert_same(ours, theirs):
    assert places(ours) == places(theirs)
    assert all(torch.equal(a["image"], b["image"]) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["openslide", "tiffslide"])
def test_every_reader_gives_the_same_patches(made, reader):
    assert_same(patches(made, 12, reader=reader), patches(made, 12, reader="tifffile"))


@pytest.mark.slow
def test_a_second_pass_gives_other_patches_and_a_new_data_set_of_the_same_seed_the_same(made):
    dataset = dataset_of(LoaderParams(), made, 7)
    first, second = (list(islice(dataset, 6)) for _ in range(2))
    assert places(first) != places(second)
    assert_same(list(islice(dataset_of(LoaderParams(), made, 7), 6)), first)


@pytest.mark.parametrize(("mpp", "level", "reader"), [(None, 0, "auto"), (2.0, 1, "tifffile")])
def test_an_item_says_where_and_at_which_level_it_lies_and_holds_these_pixels(
    made, mpp, level, reader
):
    (item,) = patches(made, 1, mpp=mpp, patch_px=64, reader=reader)
    assert (item["level"], item["mpp"]) == (level, mpp or 0.5)
    with tifffile.TiffFile(item["slide_path"]) as file:
        whole = file.series[0].levels[level].asarray()
    y, x = (round(item[axis] / 4**level) for axis in "yx")
    expected = whole[y : y + 64, x : x + 64].transpose(2, 0, 1) / np.float32(255)
    assert item["image"].dtype == torch.float32
    np.testing.assert_array_equal(item["image"].numpy(), expected)


@pytest.mark.slow
def test_loader_processes_share_out_the_slides_and_one_without_leaves_the_others_to_work(made):
    given = patches(made, 30, num_workers=3, pool_size=8)
    assert [{item["slide_path"] for item in given[number::3]} for number in range(3)] == [
        {slide} for slide in made
    ]
    assert len(patches(made[:1], 10, num_workers=2)) == 10


@pytest.mark.slow
def test_spawned_loader_processes_give_patches(made):
    spawned = patches(made, 6, num_workers=1, start_method="spawn")
    assert_same(spawned, patches(made, 6, num_workers=1))


@pytest.mark.slow
def test_more_slides_are_opened_than_a_pipe_of_statistics_would_hold(made):
    often = {"patches_per_slide": 1, "patch_px": 8, "tissue": False}
    assert len(patches(made, MORE_THAN_A_PIPE_HOLDS, **often)) == MORE_THAN_A_PIPE_HOLDS


def test_patches_of_an_ome_zarr_image_hold_its_numbers(tmp_path):
    image = np.random.default_rng(0).integers(0, 2**16, (2, 60, 70), dtype=np.uint16)
    path = tmp_path / "image.zarr"
    write_zarr(path, image, "cyx", version="0.4")
    for item in some(patches([str(path)], 10, patch_px=16, tissue=False)):
        y, x = item["y"], item["x"]
        np.testing.assert_array_equal(item["image"].numpy(), image[:, y : y + 16, x : x + 16])
        assert item["slide_path"] == str(path)
        assert item["mpp"] != -1


def unreadable(slides, count=1, **params):
    """A slide that is refused by its name, in one sentence."""
    with refused(BadInput) as raised:
        patches([str(slide) for slide in slides], count, **params)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_tissue_is_not_sought_where_there_are_no_colours(tmp_path, dtype):
    write_zarr(tmp_path / "image.zarr", np.zeros((1, 40, 50), dtype=dtype), "cyx")
    unreadable([tmp_path / "image.zarr"], patch_px=16)


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_slide_of_glass_alone_is_refused_by_name(tmp_path, num_workers):
    glass = np.full((600, 600, 3), 255, dtype=np.uint8)
    path = tmp_path / "glass.tif"
    tifffile.imwrite(path, glass, tile=(256, 256), photometric="rgb", compression="jpeg")
    unreadable([path], num_workers=num_workers)


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_damaged_slide_is_refused_by_name(made, tmp_path, num_workers):
    damaged = tmp_path / "damaged.svs"
    shutil.copy(made[0], damaged)
    with damaged.open("r+b") as file:
        file.truncate(damaged.stat().st_size // 2)
    unreadable([*made[1:], damaged], 30, num_workers=num_workers)


def test_a_slide_that_does_not_say_its_pixel_size_has_no_asked_magnification(tmp_path):
    path = tmp_path / "unsized.tif"
    pixels = np.zeros((600, 600, 3), dtype=np.uint8)
    tifffile.imwrite(path, pixels, tile=(256, 256), photometric="rgb")
    unreadable([path], mpp=0.5)


@pytest.mark.parametrize("mpp", [0.39, 40])
def test_a_magnification_that_a_slide_lacks_is_refused(made, mpp):
    unreadable(made, mpp=mpp)


def test_a_slide_that_no_patch_fits_into_is_refused_by_name(made):
    unreadable(made, patch_px=641)
