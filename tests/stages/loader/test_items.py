from math import sqrt

import numpy as np
import pytest
import torch
from torch.utils.data import default_collate

from pyscale_stages.loader.items import (
    Places,
    channels_first,
    checksum_of,
    diversity_of,
    effective_slides,
    grey_values,
    mean_distance_px,
    on_device,
    pixels_of,
    places_in,
)

IMAGE = torch.zeros(3, 8, 8)


@pytest.mark.parametrize(
    ("batch", "shape"),
    [
        (default_collate([{"mask": IMAGE[0], "image": IMAGE}]), (1, 3, 8, 8)),
        (default_collate([(5, IMAGE)] * 2), (2, 3, 8, 8)),
        (torch.zeros(4, 3, 8, 8), (4, 3, 8, 8)),
        ({"image": {"near": IMAGE, "far": IMAGE[:, :4]}}, (3, 8, 8)),
    ],
    ids=["image of a dict", "first tensor with axes of a tuple", "a tensor", "first of views"],
)
def test_pixels_are_found_in_a_batch(batch, shape):
    assert pixels_of(batch).shape == shape


def test_places_are_copied_out_of_the_batch():
    items = [
        {"slide_path": name, "x": x, "y": 2 * x, "level": 1} for name, x in (("a", 3), ("b", 4))
    ]
    batch = default_collate(items)
    found = places_in(batch)
    batch["x"].zero_()
    assert found == Places(("a", "b"), (3, 4), (6, 8), (1, 1))


def test_a_batch_without_slides_says_no_place_and_one_with_half_of_places_only_slides():
    assert places_in({"x": torch.tensor([1])}) is None
    assert places_in((IMAGE, 3)) is None
    assert places_in({"slide": "one for all"}) is None
    assert places_in({"slide": ["a", "b"], "x": torch.tensor([1, 2])}) == Places(("a", "b"))


def test_every_tensor_is_copied_and_the_rest_is_kept():
    there = on_device({"image": IMAGE, "more": [IMAGE], "slide": "a"}, torch.device("meta"))
    assert there["image"].device.type == there["more"][0].device.type == "meta"
    assert there["slide"] == "a"


IMAGES = np.random.default_rng(1).integers(0, 256, (4, 3, 8, 8), dtype=np.uint8)


def item(number, image, **more):
    place = {"slide_path": f"/here/{number % 2}.svs", "x": number, "y": 0, "level": 0}
    return {"image": image} | place | more


def checksum(items, *, batch_size=2):
    batches = (items[i : i + batch_size] for i in range(0, len(items), batch_size))
    take = map(default_collate, batches).__next__
    found, patches = checksum_of(take, len(items) // batch_size)
    assert patches == len(items)
    return found


ITEMS = [item(number, torch.from_numpy(image)) for number, image in enumerate(IMAGES)]
EXPECTED = checksum(ITEMS)


GREY = ITEMS[0]["image"].clone()
GREY[0, 0, 0] ^= 1
SAME = {
    "in another order": ITEMS[::-1],
    "floats": [i | {"image": i["image"].float() / 255} for i in ITEMS],
    "floats by another rounding": [i | {"image": i["image"].float() * (1 / 255)} for i in ITEMS],
    "channels last": [i | {"image": i["image"].permute(1, 2, 0)} for i in ITEMS],
    "of another folder": [
        i | {"slide_path": i["slide_path"].replace("here", "there")} for i in ITEMS
    ],
    "places as floats": [i | {"x": float(i["x"]), "y": float(i["y"])} for i in ITEMS],
}
OTHER = {
    "x": [ITEMS[0] | {"x": 9}, *ITEMS[1:]],
    "y": [ITEMS[0] | {"y": 1}, *ITEMS[1:]],
    "level": [ITEMS[0] | {"level": 1}, *ITEMS[1:]],
    "slide": [ITEMS[0] | {"slide_path": "other.svs"}, *ITEMS[1:]],
    "one grey value": [ITEMS[0] | {"image": GREY}, *ITEMS[1:]],
    "a patch that comes twice": [*ITEMS, ITEMS[0], ITEMS[0]],
}


@pytest.mark.parametrize("items", SAME.values(), ids=SAME)
def test_the_same_patches_have_one_checksum(items):
    assert checksum(items) == checksum(items, batch_size=4) == EXPECTED


@pytest.mark.parametrize("items", OTHER.values(), ids=OTHER)
def test_other_patches_have_another(items):
    assert checksum(items) != EXPECTED


def test_no_batch_has_no_checksum_and_a_volume_of_three_planes_is_not_turned():
    assert checksum_of(lambda: pytest.fail("no batch was asked for"), 0) == (None, 0)
    assert channels_first(np.zeros((3, 5, 4))).shape == (3, 5, 4)
    assert channels_first(np.zeros((6, 5, 4))).shape == (4, 6, 5)


def test_grey_values_are_found_again_in_floats_and_other_floats_left_as_they_are():
    greys = np.arange(0, 65536, 97, dtype=np.uint16)
    found = grey_values(greys.astype(np.float32) / np.float32(65535))
    assert found.dtype == np.uint16
    assert np.array_equal(found, greys)
    normalised = np.linspace(-2, 2, 50, dtype=np.float32)
    assert grey_values(normalised) is normalised
    uneven = np.sqrt(np.linspace(0, 1, 50, dtype=np.float32))
    assert grey_values(uneven) is uneven


@pytest.mark.parametrize(
    ("slides", "run_patches", "effective"),
    [
        ("abcd" * 5, None, 4),
        # Most patches are of one slide.
        ("a" * 9 + "b", None, 1 / (0.81 + 0.01)),
        # Slides that follow each other in long runs are not mixed.
        ("a" * 10 + "b" * 10, 10, 1),
        ("ab" * 10, 10, 2),
        # Chances are averaged and not their inverses: of a pair it is 1 in one run, 1/2 in another.
        ("aaaa" + "abab", 4, 4 / 3),
        # A last run that is shorter does not count.
        ("abab" + "a", 4, 2),
    ],
)
def test_effective_slides_are_the_inverse_chance_of_a_pair(slides, run_patches, effective):
    runs = {} if run_patches is None else {"run_patches": run_patches}
    assert effective_slides([*slides], **runs) == pytest.approx(effective)


def test_the_distance_is_between_patches_of_one_slide_in_one_batch_and_each_pair_counts_alike():
    batch = Places(("a", "b", "a", "a"), (0, 500, 3, 0), (0, 500, 4, 4))
    # Three pairs of slide a: 5, 4 and 3 px.
    assert mean_distance_px([batch]) == pytest.approx(4)
    near = Places(("a",) * 3, (0, 0, 0), (0, 0, 0))
    far = Places(("a",) * 2, (0, 1), (0, 1))
    assert mean_distance_px([near, far]) == pytest.approx(sqrt(2) / 4)


@pytest.mark.parametrize(
    ("batches", "slides_per_batch"),
    [
        ([Places(("a", "b"), (0, 1), (0, 1))], 2),
        ([Places(("a", "a")), Places(("a", "b"))], 1.5),
    ],
    ids=["no batch has two of a slide", "places are unknown"],
)
def test_slides_are_counted_where(batches, slides_per_batch):
    found = diversity_of(batches)
    assert found.distance_px is None
    assert found.patches == sum(len(batch.slides) for batch in batches)
    assert found.slides_per_batch == slides_per_batch


def test_nothing_is_said_where_a_batch_does_not_say_its_slides():
    assert diversity_of([Places(("a",)), None]) is None
    assert diversity_of([]) is None
