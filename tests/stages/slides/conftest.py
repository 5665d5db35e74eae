"""Small slides of every kind, made from one picture."""

import cv2
import numpy as np
import pytest
import tifffile

HEIGHT_PX, WIDTH_PX = 603, 751
"""No multiple of a tile, and not the same."""


@pytest.fixture(scope="session")
def picture():
    """Smooth colours on the right, white glass on the left, noise over both."""
    rng = np.random.default_rng(5)
    coarse = rng.integers(30, 180, (20, 25, 3), dtype=np.uint8)
    coarse[:, :8] = 235
    smooth = cv2.resize(coarse, (WIDTH_PX, HEIGHT_PX), interpolation=cv2.INTER_LINEAR)
    noise = rng.integers(-10, 11, smooth.shape)
    return np.clip(smooth + noise, 0, 255).astype(np.uint8)


@pytest.fixture
def make_svs(tmp_path, picture):
    """Write the picture as a slide in Aperio's layout, of levels 1, 2 and 4 times coarser."""

    def make(name="slide.svs", *, pixels=None, mpp="|MPP = 0.5", steps=(1, 2, 4), **options):
        path, shown = tmp_path / name, picture if pixels is None else pixels
        height, width = shown.shape[:2]
        said = f"Aperio Image Library\r\n{width}x{height} (128x128) JPEG/RGB Q=80|AppMag = 20{mpp}"
        written = {
            "compression": "jpeg",
            "compressionargs": {"level": 80},
            "subsampling": (2, 2),
        } | options
        with tifffile.TiffWriter(path) as tiff:
            for step in steps:
                # Sides that divide the slide's keep every level a whole number of times coarser.
                sides = (width // steps[-1] * steps[-1], height // steps[-1] * steps[-1])
                level = cv2.resize(
                    shown[: sides[1], : sides[0]],
                    (sides[0] // step, sides[1] // step),
                    interpolation=cv2.INTER_AREA,
                )
                tiff.write(
                    level,
                    tile=(128, 128),
                    photometric="rgb",
                    description=said,
                    metadata=None,
                    software=False,
                    **written,
                )
        return path

    return make
