"""Denoisers side by side on real images with a camera's noise: gain, bias, cost, cells found.

Real images (and a synthetic frame, the only one without noise of its own) are taken for the light
that a camera counts: photons, read noise, offset. Denoised frames are compared with them, and
pyscale-tiny labels those of real nuclei, which have 125 reference labels.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# ITK reads it once, when ANTs is imported.
os.environ["ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"] = "1"

import numpy as np
import numpy.typing as npt
import tifffile
from scipy.ndimage import gaussian_filter

from pyscale_stages.register_denoise.denoisers import denoise, import_denoiser
from pyscale_stages.register_denoise.frames import as_dtype
from pyscale_stages.register_denoise.params import RegisterDenoiseParams
from pyscale_stages.segment import calls
from pyscale_stages.segment.agreement import match_cells
from pyscale_stages.segment.models import Model, import_cellpose
from pyscale_stages.segment.params import EMBEDDED_MODEL, SegmentParams, embedded_model
from pyscale_stages.synth.movie import SynthParams, render_frames

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
IMAGES = {
    "nuclei": ("stardist-nuclei/img2d.tif", ...),
    "migration": ("cancer-migration/cancer_cell_migration_crop.tif", 0),
    # Still membranes with much noise of their own: the mean of five frames has less.
    "membrane": ("membrane-timelapse/membrane_2d_timelapse.tif", slice(5)),
    "drosophila": ("drosophila-nuclei/DrosophilaEmbryo_GFPHistone_0000.tif", (..., 1)),
    "pc12": ("pc12-registration/pc12-unreg.tif", 0),
}
"""File, and which of its pixels; of several frames the mean is taken."""
PEAKS_PHOTONS = (20, 100)
GAIN_COUNTS, READ_NOISE_ELECTRONS, OFFSET_COUNTS = 2.0, 1.4, 100.0
SEEDS = range(5)

Image = npt.NDArray[np.float64]
Frame = npt.NDArray[np.uint16]
Denoiser = Callable[[Frame], Frame]


def main() -> int:
    """Print the three tables."""
    if not DATA.is_dir():
        print(f"{DATA} is not there: put the shared datasets beside the checkout")
        return 1
    images = {name: real_image(*where) for name, where in IMAGES.items()}
    images["synthetic"] = synthetic_image()
    denoisers = {
        "none": lambda frame: frame,
        "Gaussian 1 px": gaussian,
        **{name: denoiser(name) for name in ("wavelet", "ants")},
    }
    quality(denoisers, images)
    cells_found(denoisers, images["nuclei"])
    return 0


def quality(denoisers: dict[str, Denoiser], images: dict[str, Image]) -> None:
    """Print gain and bias of each denoiser on each image."""
    print("PSNR gain in dB / signed error of the brightest tenth in % of the range; seed 0")
    for peak in PEAKS_PHOTONS:
        print(f"\npeak of {peak} photons\n{'':14}" + "".join(f"{name:>14}" for name in images))
        for name, run in denoisers.items():
            cells = []
            for light in images.values():
                frame, clean = camera(light, peak, seed=0)
                cells.append("{:7.1f} /{:5.1f}".format(*gain_and_bias(frame, run(frame), clean)))
            print(f"{name:14}" + "".join(cells), flush=True)


def cells_found(denoisers: dict[str, Denoiser], light: Image) -> None:
    """Print the average precision of the next stage on denoised nuclei, and CPU time a frame."""
    labels = tifffile.imread(DATA / "stardist-nuclei" / "mask2d.tif")
    import_cellpose(3)
    prepared = calls.prepared_device("cpu", threads=1, seed=0)
    segmenter = Model(3, embedded_model(EMBEDDED_MODEL)).build(prepared)
    print(
        f"\nAP at IoU 0.5 of pyscale-tiny on nuclei, mean and range of {len(SEEDS)} seeds; median "
        f"CPU s a frame of {light.shape[0]} x {light.shape[1]} px, 1 thread"
    )
    for name, run in denoisers.items():
        cells, seconds = [], []
        for peak in PEAKS_PHOTONS:
            found = []
            for seed in SEEDS:
                frame, _ = camera(light, peak, seed)
                began = time.process_time()
                denoised = run(frame)
                seconds.append(time.process_time() - began)
                cells_of_frame = segmenter.segment(denoised, SegmentParams())
                found.append(match_cells(labels, cells_of_frame).average_precision)
            cells.append(f"{np.mean(found):7.3f} ({min(found):.3f} to {max(found):.3f})")
        print(f"{name:14}" + "".join(cells) + f"{statistics.median(seconds):8.3f} s", flush=True)


def real_image(file: str, pixels: Any) -> Image:
    """A real image as light."""
    image = tifffile.imread(DATA / file)[pixels].astype(np.float64)
    return as_light(image.reshape(-1, *image.shape[-2:]).mean(axis=0))


def synthetic_image() -> Image:
    """The first frame of a synthetic movie before any noise, as light."""
    frame = next(render_frames(SynthParams(frames=1, cell_types=1), ("camera",)))
    return as_light(frame.clean["camera"][0].astype(np.float64))


def as_light(image: Image) -> Image:
    """Scale an image to 0 to 1, and clip the brightest thousandth."""
    low, high = image.min(), np.quantile(image, 0.999)
    return np.clip((image - low) / (high - low), 0, 1)


def camera(light: Image, peak_photons: float, seed: int) -> tuple[Frame, Image]:
    """What a camera counts of the light, and what it would count without noise."""
    rng = np.random.default_rng(seed)
    electrons = rng.poisson(light * peak_photons)
    read = READ_NOISE_ELECTRONS * rng.standard_normal(light.shape)
    counts = OFFSET_COUNTS + GAIN_COUNTS * (electrons + read)
    frame = np.clip(np.rint(counts), 0, np.iinfo(np.uint16).max).astype(np.uint16)
    return frame, OFFSET_COUNTS + GAIN_COUNTS * peak_photons * light


def gain_and_bias(frame: Frame, denoised: Frame, clean: Image) -> tuple[float, float]:
    """Gain in dB, and mean error of the brightest tenth in % of the range."""
    noise, error = frame - clean, denoised - clean
    brightest = clean >= np.quantile(clean, 0.9)
    gain_db = 10 * np.log10(np.mean(noise**2) / np.mean(error**2))
    return float(gain_db), float(100 * error[brightest].mean() / np.ptp(clean))


def denoiser(name: str) -> Denoiser:
    """One of the stage's denoisers, with its default parameters."""
    params = RegisterDenoiseParams.model_validate({"denoiser": name})
    import_denoiser(params)

    def run(frame: Frame) -> Frame:
        pixels = denoise(frame.astype(np.float32), params).pixels
        return as_dtype(pixels, np.dtype(np.uint16))

    return run


def gaussian(frame: Frame) -> Frame:
    """Blur by a Gaussian: the plain yardstick."""
    return as_dtype(gaussian_filter(frame.astype(np.float32), 1), np.dtype(np.uint16))


if __name__ == "__main__":
    sys.exit(main())
