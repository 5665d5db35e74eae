import json

import numpy as np
import pytest
import zarr

from omezarr import write_zarr
from pyscale_stages.errors import BadInput
from pyscale_stages.slides.opening import AnySlide
from refusals import refused


def opened(path):
    slide = AnySlide("auto")
    slide.open(str(path))
    return slide


def unreadable(path):
    with refused(BadInput):
        opened(path)


@pytest.fixture
def values():
    """Two times, three channels and two depths, each pixel another value."""
    return np.arange(2 * 3 * 2 * 90 * 101, dtype=np.uint16).reshape(2, 3, 2, 90, 101)


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_levels_of_one_time_and_depth_are_read_with_channels_last(tmp_path, values, version):
    path = tmp_path / "image.zarr"
    write_zarr(path, values[:1, :, 1:], "tczyx", version=version)
    slide = opened(path)._slide
    assert (slide.channels, slide.dtype, slide.mpp) == (3, np.dtype(np.uint16), 0.25)
    assert slide.shapes == [(90, 101), (45, 51)]
    expected = np.moveaxis(values[0, :, 1], 0, -1)
    np.testing.assert_array_equal(slide.pixels(0, 5, 60, 80, 30), expected[5:85, 60:90])
    np.testing.assert_array_equal(slide.pixels(1, 1, 2, 40, 45), expected[::2, ::2][1:41, 2:47])


def test_an_image_of_several_planes_is_refused(tmp_path, values):
    write_zarr(tmp_path / "image.zarr", values, "tczyx")
    unreadable(tmp_path / "image.zarr")


@pytest.mark.parametrize("axes", ["cyx", "yxs", "yxc", "yx"])
def test_colours_before_or_after_the_pixels_are_found(tmp_path, values, axes):
    expected = np.moveaxis(values[0, :, 0], 0, -1)[..., : 1 if axes == "yx" else 3]
    stored = {"cyx": np.moveaxis(expected, -1, 0), "yx": expected[..., 0]}.get(axes, expected)
    write_zarr(tmp_path / "image.zarr", stored, axes)
    slide = opened(tmp_path / "image.zarr")
    found = slide.read_region(20, 10, 0, 60, 50)
    np.testing.assert_array_equal(found, expected[10:60, 20:80])


def test_the_first_image_of_several_in_numbered_groups_is_read(tmp_path, values):
    zarr.open_group(str(tmp_path / "slide.zarr"), mode="w")
    write_zarr(tmp_path / "slide.zarr" / "0", values[0, :, 0], "cyx")
    slide = opened(tmp_path / "slide.zarr")
    found = slide.read_region(0, 0, 0, 101, 90)
    np.testing.assert_array_equal(found, np.moveaxis(values[0, :, 0], 0, -1))


def test_a_folder_that_is_no_image_and_an_image_of_no_pixels_are_said(tmp_path, values):
    (tmp_path / "empty.zarr").mkdir()
    unreadable(tmp_path / "empty.zarr")
    group = zarr.open_group(str(tmp_path / "plain.zarr"), mode="w")
    group.create_array("0", data=values)
    unreadable(tmp_path / "plain.zarr")
    write_zarr(tmp_path / "empty.zarr", values[0, 0, 0, :1], "yx")
    described = json.loads((tmp_path / "empty.zarr" / "1" / "zarr.json").read_text())
    (tmp_path / "empty.zarr" / "1" / "zarr.json").write_text(
        json.dumps(described | {"shape": [0, 51]})
    )
    unreadable(tmp_path / "empty.zarr")


def test_a_level_that_is_not_there_and_axes_that_do_not_fit_are_said(tmp_path, values):
    write_zarr(tmp_path / "lost.zarr", values, "tczyx")
    (tmp_path / "lost.zarr" / "1" / "zarr.json").unlink()
    unreadable(tmp_path / "lost.zarr")
    write_zarr(tmp_path / "odd.zarr", values[0, 0], "zyx")
    group = zarr.open_group(str(tmp_path / "odd.zarr"), mode="r+")
    described = group.attrs["ome"]
    described["multiscales"][0]["axes"] = [{"name": "y"}, {"name": "x"}]
    group.attrs["ome"] = described
    unreadable(tmp_path / "odd.zarr")


@pytest.mark.parametrize(
    "broken",
    [
        {"axes": [{"type": "space"}, {"name": "x"}]},
        {"datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale"}]}]},
        "no description",
    ],
)
def test_metadata_of_another_form_are_said(tmp_path, values, broken):
    path = tmp_path / "image.zarr"
    write_zarr(path, values[0, 0, 0], "yx", version="0.4")
    group = zarr.open_group(str(path), mode="r+")
    (image,) = group.attrs["multiscales"]
    group.attrs["multiscales"] = [broken if isinstance(broken, str) else image | broken]
    unreadable(path)


def test_a_damaged_chunk_is_said(tmp_path, values):
    path = tmp_path / "image.zarr"
    write_zarr(path, values[0, :, 0], "cyx")
    chunk = path / "0" / "c" / "0" / "0" / "0"
    chunk.write_bytes(b"garbage" * 30)
    slide = opened(path)
    with refused(BadInput):
        slide.read_region(0, 0, 0, 10, 10)
    assert slide.read_region(64, 64, 0, 10, 10).shape == (10, 10, 3)
