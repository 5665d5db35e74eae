from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import default_collate

from pyscale_stages.loader.items import channels_first, checksum_of, grey_values

IMAGES = np.random.default_rng(1).integers(0, 256, (4, 3, 8, 8), dtype=np.uint8)


def item(number: int, image: torch.Tensor, **more: Any) -> dict[str, Any]:
    place = {"slide_path": f"/here/{number % 2}.svs", "x": number, "y": 0, "level": 0}
    return {"image": image} | place | more


def checksum(items: list[dict[str, Any]], *, batch_size: int = 2) -> str | None:
    batches = (items[i : i + batch_size] for i in range(0, len(items), batch_size))
    take: Callable[[], Any] = map(default_collate, batches).__next__
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


def test_no_batch_has_no_checksum():
    assert checksum_of(lambda: pytest.fail("no batch was asked for"), 0) == (None, 0)


def test_sixteen_bits_are_found_again_in_floats():
    greys = np.arange(0, 65536, 97, dtype=np.uint16)
    found = grey_values(greys.astype(np.float32) / np.float32(65535))
    assert found.dtype == np.uint16
    assert np.array_equal(found, greys)


def test_floats_that_are_no_grey_values_are_left_as_they_are():
    normalised = np.linspace(-2, 2, 50, dtype=np.float32)
    assert grey_values(normalised) is normalised
    uneven = np.sqrt(np.linspace(0, 1, 50, dtype=np.float32))
    assert grey_values(uneven) is uneven


def test_a_volume_with_three_planes_is_not_turned():
    assert channels_first(np.zeros((3, 5, 4))).shape == (3, 5, 4)
    assert channels_first(np.zeros((6, 5, 4))).shape == (4, 6, 5)
