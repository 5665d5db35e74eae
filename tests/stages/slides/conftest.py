import cv2
import numpy as np
import pytest
import tifffile

HEIGHT_PX, WIDTH_PX = 603, 751
"""No multiple of a tile, and not the same."""
TILED = {"tile": (128, 128), "photometric": "rgb", "metadata": None}


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
def write_tiled(tmp_path):
    """Write pixels as a tiled TIFF, of colours where nothing else is said."""

    def write(name, pixels, **options):
        tifffile.imwrite(tmp_path / name, pixels, **(TILED | options))
        return tmp_path / name

    return write


@pytest.fixture
def gap(write_tiled):
    """A slide of four tiles, of which the third was never written."""
    tiles = (np.full((128, 128, 3), 10, np.uint8) if number != 2 else None for number in range(4))
    return write_tiled("gap.tif", tiles, shape=(256, 256, 3), dtype=np.uint8)


@pytest.fixture
def write_pyramid(tmp_path):
    """Write pixels at several steps as reduced pages of one file."""

    def write(pixels, steps, **options):
        with tifffile.TiffWriter(tmp_path / "pyramid.tif") as tiff:
            for number, step in enumerate(steps):
                reduced = {"compression": "jpeg", "subfiletype": min(number, 1)}
                tiff.write(pixels[::step, ::step], **(TILED | reduced | options))
        return tmp_path / "pyramid.tif"

    return write


@pytest.fixture
def make_svs(tmp_path, picture):
    """Write the picture as a slide in Aperio's layout, of levels 1, 2 and 4 times coarser."""

    def make(name="slide.svs", *, pixels=None, mpp="|MPP = 0.5", steps=(1, 2, 4), **options):
        path, shown = tmp_path / name, picture if pixels is None else pixels
        height, width = shown.shape[:2]
        said = f"Aperio Image Library\r\n{width}x{height} (128x128) JPEG/RGB Q=80|AppMag = 20{mpp}"
        as_scanned = {"compression": "jpeg", "compressionargs": {"level": 80}}
        written = TILED | as_scanned | {"subsampling": (2, 2), "software": False} | options
        with tifffile.TiffWriter(path) as tiff:
            for step in steps:
                # Sides that divide the slide's keep every level a whole number of times coarser.
                sides = (width // steps[-1] * steps[-1], height // steps[-1] * steps[-1])
                level = cv2.resize(
                    shown[: sides[1], : sides[0]],
                    (sides[0] // step, sides[1] // step),
                    interpolation=cv2.INTER_AREA,
                )
                tiff.write(level, description=said, **written)
                if step == 1:
                    # Scanners write a thumbnail behind the finest level, in strips.
                    tiff.write(shown[::8, ::8], photometric="rgb", metadata=None, software=False)
        return path

    return make


@pytest.fixture
def damage_tile():
    """Overwrite a part of the second tile of the first level of a file, whose path is returned."""

    def overwrite(path, at_share, damage):
        with tifffile.TiffFile(path) as tiff:
            page = tiff.pages.first
            offset, size = page.dataoffsets[1], page.databytecounts[1]
        with path.open("r+b") as file:
            file.seek(offset + int(at_share * (size - len(damage))))
            file.write(damage)
        return path

    return overwrite
