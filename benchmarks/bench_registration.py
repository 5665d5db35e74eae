"""The backends of register_denoise side by side: processor time and error, frame by frame in turn.

Four movies whose drift is known, then frames that a shift explains less and less. One thread each.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

# ITK reads it once, when ANTs is imported.
os.environ["ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import numpy.typing as npt
import tifffile
from scipy import ndimage

from pyscale_stages.register_denoise import ants_calls, translation
from pyscale_stages.register_denoise.params import RegisterDenoiseParams
from pyscale_stages.register_denoise.transforms import Correction, is_doubtful
from pyscale_stages.synth.movie import SynthParams, render_frames
from pyscale_stages.synth.params import drift_path

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SHIFTS = ((3.3, -1.7), (-5.25, 2.5), (7.6, 4.4), (0.5, -9.1))
MARGIN_PX = 12
"""What a shift brings into view is real, so movies are cut from inside an image."""
READ_NOISE_ELECTRONS = 1.4
REPEATS = 3
IMPORTS = {"ants": "import ants", "fft": "import scipy.fft, scipy.ndimage"}

Image = npt.NDArray[np.float64]
Frame = npt.NDArray[np.float32]
Drift = npt.NDArray[np.float64]
Found = Correction | None
"""None is handed over."""
Backend = Callable[[Frame, Frame], Found]


@dataclass(frozen=True)
class Movie:
    """Frames of which the first is the reference, and how far each of the others drifted."""

    name: str
    reference: Frame
    frames: tuple[Frame, ...]
    drift: Drift


def main() -> int:
    """Print what imports cost, the movies, and the cases."""
    if not DATA.is_dir():
        print(f"{DATA} is not there: put the shared datasets beside the checkout")
        return 1
    imports()
    with TemporaryDirectory() as scratch:

        def ants(reference: Frame, frame: Frame) -> Found:
            return ants_calls.register(reference, frame, RegisterDenoiseParams(), Path(scratch))

        ants_calls.set_seed(0)
        translation.import_libraries()
        backends: dict[str, Backend] = {"ants": ants, "fft": translation.register}
        movies(backends)
        cases(backends)
    return 0


def imports() -> None:
    """Print what each backend loads before its first frame."""
    print(f"imports beside NumPy, CPU-s of a process, median of {REPEATS}")
    took: dict[str, list[float]] = {"none": [], **{name: [] for name in IMPORTS}}
    for _ in range(REPEATS):
        for name, code in {"none": "pass", **IMPORTS}.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", f"import numpy; {code}"], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    base = statistics.median(took.pop("none"))
    for name, seconds in took.items():
        print(f"  {name:5}{statistics.median(seconds) - base:6.2f}")


def movies(backends: dict[str, Backend]) -> None:
    """Print error and processor time of each backend on each movie."""
    print(
        "\nerror in px, mean and greatest of the frames; CPU-s a frame, median; frames in turn\n"
        f"{'':34}{'ants':>26}{'fft':>26}{'ratio':>8}"
    )
    for movie in made_movies():
        errors: dict[str, list[float]] = {name: [] for name in backends}
        seconds: dict[str, list[float]] = {name: [] for name in backends}
        over = 0
        for index, (frame, drift) in enumerate(zip(movie.frames, movie.drift, strict=True)):
            names = list(backends) if index % 2 else list(backends)[::-1]
            for name in names:
                found, took_s = timed(backends[name], movie.reference, frame)
                seconds[name].append(took_s)
                if found is None:
                    over += 1
                else:
                    errors[name].append(error_px(found, drift))
        height, width = movie.reference.shape
        title = f"{movie.name}, {len(movie.frames)} x {height} x {width}"
        cells = [
            f"{np.mean(errors[name]):.3f} ({max(errors[name]):.3f})"
            f"{statistics.median(seconds[name]):9.3f} s"
            for name in backends
        ]
        one, other = (statistics.median(seconds[name]) for name in backends)
        handed = f"; {over} handed over" if over else ""
        print(
            f"{title:34}"
            + "".join(f"{cell:>26}" for cell in cells)
            + f"{one / other:8.1f}{handed}",
            flush=True,
        )


def cases(backends: dict[str, Backend]) -> None:
    """Print what each backend answers to single frames."""
    print("\nnuclei, one frame each: error in px at the centre, and what is made of it")
    for name, reference, frame, drift in made_cases():
        cells = []
        for register in backends.values():
            found, _ = timed(register, reference, frame)
            cells.append(answer(found, drift, reference))
        print(f"{name:34}" + "".join(f"{cell:>26}" for cell in cells), flush=True)


def answer(found: Found, drift: Drift, reference: Frame) -> str:
    """An error, and whether the stage believes it."""
    if found is None:
        return "handed over"
    height, width = reference.shape
    doubt = " doubtful" if is_doubtful(found, (height, width)) else ""
    return f"{error_px(found, drift):.2f}{doubt}"


def timed(register: Backend, reference: Frame, frame: Frame) -> tuple[Found, float]:
    """What a backend finds, and its processor time."""
    began = time.process_time()
    found = register(reference, frame)
    return found, time.process_time() - began


def error_px(found: Correction, drift: Drift) -> float:
    """Distance of the shift at the centre of the frame from the true one."""
    return float(np.linalg.norm((found.linear.ty_px - drift[0], found.linear.tx_px - drift[1])))


def made_movies() -> Iterator[Movie]:
    """Movies with their drift."""
    yield shifted("nuclei, 100 photons", nuclei(100), SHIFTS)
    params = SynthParams(frames=6, cell_types=1, seed=5)
    reference, *frames = (
        frame.image[0].astype(np.float32) for frame in render_frames(params, ("camera",))
    )
    drift = drift_path(params)
    yield Movie("wandering cells", reference, tuple(frames), drift[1:] - drift[0])
    pc12 = tifffile.imread(DATA / "pc12-registration" / "pc12-unreg.tif")[0].astype(np.float64)
    yield shifted("PC12 cells", pc12 * (1000 / pc12.max()), SHIFTS)
    yield shifted("painted HeLa nuclei", painted_hela(), SHIFTS[:3])


def made_cases() -> Iterator[tuple[str, Frame, Frame, Drift]]:
    """Single frames: far away, turned, stretched, dark."""
    still, image = np.zeros(2), nuclei(100)
    # Mirrored, so that whatever comes into view is nuclei as well.
    field = np.pad(image, 256, mode="symmetric")
    for far in (60, 150, 240):
        frame = field[256 - far : 768 - far, 256:768]
        yield f"shift of {far} px", camera(image, 0), camera(frame, 1), np.array([far, 0.0])
    for degrees in (0.3, 1, 3, 10):
        turned = ndimage.rotate(image, degrees, reshape=False, order=3, mode="reflect")
        yield f"turned by {degrees} degrees", camera(image, 0), camera(turned, 1), still
    half = (np.array(image.shape) - 1) / 2
    larger = ndimage.affine_transform(image, np.eye(2) / 1.05, offset=half * (1 - 1 / 1.05))
    yield "1.05 times as large", camera(image, 0), camera(larger, 1), still
    for photons in (10, 3):
        dark = shifted(f"{photons} photons at most", nuclei(photons), ((3.3, -1.7),))
        yield dark.name, dark.reference, dark.frames[0], dark.drift[0]


def nuclei(photons: float) -> Image:
    """Real nuclei, in photons."""
    image = tifffile.imread(DATA / "stardist-nuclei" / "img2d.tif").astype(np.float64)
    return np.asarray(image * (photons / image.max()))


def painted_hela() -> Image:
    """Labels of HeLa nuclei, each of one brightness, in photons."""
    labels = tifffile.imread(DATA / "hela-tracking" / "mask000.tif").squeeze()
    brightness = np.random.default_rng(1).uniform(200, 900, labels.max() + 1)
    brightness[0] = 50
    return np.asarray(ndimage.gaussian_filter(brightness[labels], 1.2))


def shifted(name: str, image: Image, shifts: tuple[tuple[float, float], ...]) -> Movie:
    """A movie of an image that moved."""
    cut = slice(MARGIN_PX, -MARGIN_PX)
    reference, *frames = (
        camera(ndimage.shift(image, shift, order=3)[cut, cut], seed)
        for seed, shift in enumerate([(0.0, 0.0), *shifts])
    )
    return Movie(name, reference, tuple(frames), np.array(shifts))


def camera(photons: Image, seed: int) -> Frame:
    """What a camera counts."""
    rng = np.random.default_rng(seed)
    counted = rng.poisson(photons.clip(0)) + READ_NOISE_ELECTRONS * rng.standard_normal(
        photons.shape
    )
    return np.asarray((100 + 2 * counted).round().clip(0).astype(np.float32))


if __name__ == "__main__":
    sys.exit(main())
