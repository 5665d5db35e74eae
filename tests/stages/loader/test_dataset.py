"""The shipped data set: what it delivers, and that wsistream delivers the same."""

import pickle
import shutil
from itertools import islice

import numpy as np
import pytest
import tifffile
import torch
from torch.utils.data import DataLoader

from omezarr import write_zarr
from pyscale_stages.errors import BadInput
from pyscale_stages.loader.batches import told
from pyscale_stages.loader.dataset import PatchDataset
from pyscale_stages.loader.factories import dataset_of
from pyscale_stages.loader.params import LoaderParams
from pyscale_stages.slides.synthetic import SlidesParams, write_slides
from refusals import refused

SLIDES = SlidesParams(slides=3, height_px=2304, width_px=640, seed=4)
"""Higher than the picture in which tissue is found, so that it is a smaller picture of them."""
WHERE = ("x", "y", "level", "patch_size", "mpp")


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


def place(item):
    return (item["slide_path"], *(item[key] for key in WHERE))


def assert_same(ours, theirs):
    assert [place(item) for item in ours] == [place(item) for item in theirs]
    assert all(torch.equal(a["image"], b["image"]) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.slow
@pytest.mark.usefixtures("wsistream")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"pool_size": 8},
        {"pool_size": 1, "patches_per_visit": 3},
        {"patches_per_visit": 4, "patches_per_slide": 6},
        {"patch_px": 100},
        {"tissue": False},
        {"mpp": 0.5},
    ],
    ids=str,
)
def test_wsistream_gives_the_same_patches_in_the_same_order(made, settings):
    ours, theirs = (
        patches(made, 24, factory=factory, **settings) for factory in ("pyscale", "wsistream")
    )
    assert_same(ours, theirs)
    assert len({item["slide_path"] for item in ours}) > 1


@pytest.mark.slow
@pytest.mark.usefixtures("wsistream")
@pytest.mark.parametrize("num_workers", [1, 2])
def test_loader_processes_give_the_patches_that_those_of_wsistream_give(made, num_workers):
    ours, theirs = (
        patches(made, 24, factory=factory, num_workers=num_workers)
        for factory in ("pyscale", "wsistream")
    )
    assert_same(ours, theirs)


@pytest.mark.slow
@pytest.mark.usefixtures("wsistream")
def test_a_second_pass_and_places_of_a_coarser_level_are_those_of_wsistream(made):
    passes = []
    for factory in ("pyscale", "wsistream"):
        dataset = dataset_of(LoaderParams(factory=factory), made, 7)
        passes.append([list(islice(dataset, 6)) for _ in range(2)])
    (first, second), (their_first, their_second) = passes
    assert_same(first, their_first)
    assert_same(second, their_second)
    assert [place(item) for item in first] != [place(item) for item in second]
    # Their pixels differ: OpenSlide interpolates between pixels, where a place is between.
    ours, theirs = (
        patches(made, 12, factory=factory, mpp=2.0, patch_px=128)
        for factory in ("pyscale", "wsistream")
    )
    assert [place(item) for item in ours] == [place(item) for item in theirs]
    assert {(item["level"], item["mpp"]) for item in ours} == {(1, 2.0)}


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["openslide", "tiffslide"])
def test_every_reader_gives_the_same_patches(made, reader):
    assert_same(patches(made, 12, reader=reader), patches(made, 12, reader="tifffile"))


def test_an_item_says_where_it_lies_and_holds_these_pixels(made):
    (item,) = patches(made, 1, patch_px=64)
    with tifffile.TiffFile(item["slide_path"]) as file:
        whole = file.series[0].levels[0].asarray()
    y, x = item["y"], item["x"]
    expected = whole[y : y + 64, x : x + 64].transpose(2, 0, 1) / np.float32(255)
    assert item["image"].dtype == torch.float32
    np.testing.assert_array_equal(item["image"].numpy(), expected)
    assert item["mpp"] == 0.5
    assert item["plane"] == 0


@pytest.mark.slow
def test_loader_processes_share_out_the_slides_and_one_without_leaves_the_others_to_work(made):
    given = patches(made, 30, num_workers=3, pool_size=8)
    assert [{item["slide_path"] for item in given[number::3]} for number in range(3)] == [
        {slide} for slide in made
    ]
    assert len(patches(made[:1], 10, num_workers=2)) == 10


@pytest.mark.slow
def test_the_data_set_can_be_sent_to_other_processes(made):
    dataset = PatchDataset(made, 7, LoaderParams(pool_size=2, patches_per_slide=5))
    list(islice(dataset, 1))
    sent = pickle.loads(pickle.dumps(dataset))
    assert_same(list(islice(sent, 3)), list(islice(dataset, 3)))


@pytest.mark.slow
def test_spawned_loader_processes_give_patches(made):
    spawned = patches(made, 6, num_workers=1, start_method="spawn")
    assert_same(spawned, patches(made, 6, num_workers=1))


def test_patches_of_an_ome_zarr_image_come_from_every_plane(tmp_path):
    image = np.random.default_rng(0).integers(0, 2**16, (3, 2, 60, 70), dtype=np.uint16)
    path = tmp_path / "image.zarr"
    write_zarr(path, image, "zcyx", version="0.4")
    given = patches([str(path)], 40, patch_px=16, tissue=False)
    assert {item["plane"] for item in given} == {0, 1, 2}
    for item in given:
        y, x = item["y"], item["x"]
        pixels = image[item["plane"], :, y : y + 16, x : x + 16] / np.float32(65535)
        np.testing.assert_array_equal(item["image"].numpy(), pixels)
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
