"""Claim: the embedded model is right on nuclei near its size, and warns where it is not.

Prints, side by side, what pyscale-tiny finds and what thresholding by Otsu with a watershed finds,
their AP at IoU 0.5 where truth is known, and the warnings: on the real images of ../shared/data, on
its labelled nuclei at other sizes and in a camera's noise, and on images without any cell.
Run as `python benchmarks/quality_segment.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tifffile
from scipy import ndimage

from pyscale_stages.segment.agreement import match_cells
from pyscale_stages.segment.calls import Doubts
from pyscale_stages.segment.models import find_model, import_cellpose
from pyscale_stages.segment.params import SegmentParams

Image = npt.NDArray[Any]
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PEAK_PHOTONS = (20, 100)
SIZES = (0.5, 2, 5)
PARAMS = SegmentParams()


class Case(NamedTuple):
    """An image, and its true labels where they are known."""

    name: str
    image: Image
    true: Image | None = None


def main() -> int:
    """Print one line for each image."""
    if not DATA.is_dir():
        print(f"{DATA} is not there: put the real images there", file=sys.stderr)
        return 2
    import torch

    torch.set_num_threads(1)
    model = find_model(PARAMS)
    import_cellpose(model.cellpose)
    segmenter = model.build(torch.device("cpu"))
    print(f"{'':<22}{'true':>6}{'pyscale-tiny':>14}{'AP':>7}{'Otsu':>7}{'AP':>7}  warnings")
    for name, image, true in cases():
        found = segmenter.segment(image, PARAMS)
        plain = by_threshold(image)
        doubts = Doubts(PARAMS)
        doubts.add(image, found, segmenter)
        codes = [warning.code for warning in doubts.warnings() if warning.is_said]
        print(
            f"{name:<22}{'-' if true is None else true.max():>6}"
            f"{found.max():>14}{precision(true, found):>7}{plain.max():>7}"
            f"{precision(true, plain):>7}  {', '.join(codes) or '-'}",
            flush=True,
        )
    return 0


def cases() -> Iterator[Case]:
    """Images of every kind, real ones first."""
    from skimage.segmentation import relabel_sequential

    nuclei = tifffile.imread(DATA / "stardist-nuclei" / "img2d.tif").astype(np.float32)
    true = relabel_sequential(tifffile.imread(DATA / "stardist-nuclei" / "mask2d.tif"))[0]
    yield Case("nuclei", nuclei, true)
    for size in SIZES:
        yield Case(
            f"nuclei x {size:g}",
            ndimage.zoom(nuclei, size, order=1),
            ndimage.zoom(true, size, order=0),
        )
    rng = np.random.default_rng(0)
    for photons in PEAK_PHOTONS:
        counts = rng.poisson(nuclei / nuclei.max() * photons) + rng.normal(0, 1.4, nuclei.shape)
        yield Case(f"nuclei, {photons} photons", (100 + 2 * counts).astype(np.float32), true)
    for folder, file in (
        ("cancer-migration", "cancer_cell_migration_crop.tif"),
        ("membrane-timelapse", "membrane_2d_timelapse.tif"),
        ("pc12-registration", "pc12-unreg.tif"),
    ):
        yield Case(folder, tifffile.imread(DATA / folder / file)[0].astype(np.float32))
    embryo = tifffile.imread(next(iter(sorted((DATA / "drosophila-nuclei").glob("*.tif")))))
    for colour, channel in zip(("red", "green"), np.moveaxis(embryo, -1, 0)[:2], strict=True):
        yield Case(f"drosophila, {colour}", channel.astype(np.float32))
    noise = rng.normal(100, 10, (256, 256)).astype(np.float32)
    yield Case("noise", noise)
    yield Case("blurred noise", ndimage.gaussian_filter(noise, 2))
    yield Case("gradient", np.tile(np.arange(256, dtype=np.float32), (256, 1)))


def by_threshold(image: Image) -> Image:
    """Segment by Otsu's threshold, touching objects cut by a watershed of the distance."""
    from skimage.feature import peak_local_max
    from skimage.filters import threshold_otsu
    from skimage.segmentation import watershed

    smooth = ndimage.gaussian_filter(image, 1)
    bright = smooth > threshold_otsu(smooth)
    distance = ndimage.gaussian_filter(ndimage.distance_transform_edt(bright), 1)
    peaks = peak_local_max(distance, min_distance=5, labels=ndimage.label(bright)[0])
    seeds = np.zeros(image.shape, np.int32)
    seeds[tuple(peaks.T)] = np.arange(1, len(peaks) + 1)
    labels: Image = watershed(-distance, seeds, mask=bright).astype(np.uint16)
    return labels


def precision(true: Image | None, found: Image) -> str:
    """AP at IoU 0.5, where truth is known."""
    if true is None:
        return "-"
    return f"{match_cells(true.astype(np.uint16), found.astype(np.uint16)).average_precision:.2f}"


if __name__ == "__main__":
    sys.exit(main())
