"""The image that is left: as it was made, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pyscale_stages.errors import BadInput, StageError
from pyscale_stages.reconstruct.output import IMAGE, Image, read_image

WriteOutput = Callable[..., Path]


def noise(*shape: int, seed: int = 0) -> Image:
    """Values of both signs, none like another."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.mark.parametrize("shape", [(3, 40, 32), (1, 32, 32), (3, 32, 4), (1, 16, 24, 32)])
def test_an_image_is_read_as_it_was_written(
    write_output: WriteOutput, shape: tuple[int, ...]
) -> None:
    image = noise(*shape)
    assert np.array_equal(read_image(write_output("a", image)), image)


def test_equal_images_have_equal_bytes(write_output: WriteOutput) -> None:
    first, second = (write_output(name, noise(3, 32, 32)) / IMAGE for name in "ab")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("kept", [0, 4, 100, 300, -9000])
def test_an_image_that_was_cut_short_is_refused(write_output: WriteOutput, kept: int) -> None:
    folder = write_output("a", noise(3, 32, 32))
    (folder / IMAGE).write_bytes((folder / IMAGE).read_bytes()[:kept])
    with pytest.raises(BadInput, match=rf"{IMAGE} is missing or damaged .*: run the recon"):
        read_image(folder)


def test_another_image_is_refused(tmp_path: Path) -> None:
    import tifffile

    tifffile.imwrite(tmp_path / IMAGE, np.zeros((3, 32, 32), np.uint16))
    with pytest.raises(BadInput, match="is no image that this stage wrote: give"):
        read_image(tmp_path)


def test_an_image_without_numbers_is_never_written(
    write_output: WriteOutput, tmp_path: Path
) -> None:
    image = noise(3, 32, 32)
    image[1, 2, 3] = np.nan
    with pytest.raises(StageError, match="NaN or infinite, because its iterations diverge"):
        write_output("a", image)
    assert not list(tmp_path.rglob("*.tif"))
