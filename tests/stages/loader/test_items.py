from __future__ import annotations

import pytest
import torch
from torch.utils.data import default_collate

from pyscale_stages.errors import BadInput
from pyscale_stages.loader.items import Places, on_device, pixels_of, places_in

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


def test_items_without_pixels_are_refused():
    with pytest.raises(BadInput, match="hold no tensor or array of pixels"):
        pixels_of({"slide_path": ["a"], "x": torch.tensor([1])})


def test_places_are_copied_out_of_the_batch():
    items = [
        {"slide_path": name, "x": x, "y": 2 * x, "level": 1} for name, x in (("a", 3), ("b", 4))
    ]
    batch = default_collate(items)
    found = places_in(batch)
    batch["x"].zero_()
    assert found == Places(("a", "b"), (3, 4), (6, 8), (1, 1))


def test_a_batch_without_slides_says_no_place():
    assert places_in({"x": torch.tensor([1])}) is None
    assert places_in((IMAGE, 3)) is None
    assert places_in({"slide": "one for all"}) is None


def test_places_that_are_half_known_are_unknown():
    assert places_in({"slide": ["a", "b"], "x": torch.tensor([1, 2])}) == Places(("a", "b"))


def test_every_tensor_is_copied_and_the_rest_is_kept():
    there = on_device({"image": IMAGE, "more": [IMAGE], "slide": "a"}, torch.device("meta"))
    assert there["image"].device.type == there["more"][0].device.type == "meta"
    assert there["slide"] == "a"
