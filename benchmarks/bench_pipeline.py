"""Claim: at N = 1 the whole pipeline with fast backends costs less than a plain script.

The script calls the same libraries one after the other in one process. Beside it `pyscale run`,
with its report and all, by default and with the backends fft and sparse and one tile over each
frame. Processor time of all processes, which one after the other have one thread each, and AP at
IoU 0.5 of the labels with the truth: of real nuclei that drift and of a real embryo, where
../shared/data has them, and of synthetic cells. The embryo, whose frames are small, has all 21 of
them and no truth; there it is the AP with the script's labels.
`python benchmarks/bench_pipeline.py [FRAMES [PYSCALE]]`, where PYSCALE is the program of another
version, to be measured beside.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import tifffile

from pyscale_stages.movie import Movie
from pyscale_stages.synth.drifted import DriftedParams, write_drifted_movie
from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie
from pyscale_stages.truth.cells import match_cells, summed

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
NUCLEI = DATA / "stardist-nuclei"
EMBRYO = DATA / "drosophila-nuclei"
PYSCALE = str(Path(sys.executable).with_name("pyscale"))
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"), "1"
)
FAST = ("register_denoise.backend=fft", "segment.tile_px=1024", "track.backend=sparse")
SET_CHILD_SUBREAPER = 36
SCRIPT = "plain script"
LABELS = "labels.ome.tif"


def main(frames: int, other: str | None) -> int:
    """Print a line for each movie and way; fail where the claim does not hold."""
    # What works off a run outlives its command, and counts here when it has ended.
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    holds = True
    with TemporaryDirectory() as name:
        print(f"{'':26}{'CPU-s':>8}{'wall s':>8}{'of script':>11}{'AP':>8}", flush=True)
        for movie in movies(Path(name), frames):
            commands = commands_on(movie, other)
            took: dict[str, float] = {}
            for way, command in commands.items():
                folder = movie.with_name(f"{movie.name} {way}")
                folder.mkdir()
                took[way], wall_s = timed(command, folder)
                truth = movie / "truth" / "specimen" / "labels_ch0.ome.tif"
                if not truth.exists():
                    truth = movie.with_name(f"{movie.name} {SCRIPT}") / LABELS
                print(
                    f"{movie.name + ', ' + way:26}{took[way]:8.1f}{wall_s:8.0f}"
                    f"{took[way] / took[SCRIPT]:11.2f}{precision(folder, truth):8.3f}",
                    flush=True,
                )
            holds = holds and took["pyscale, fast"] < took[SCRIPT]
    return 0 if holds else 1


def movies(folder: Path, frames: int) -> list[Path]:
    """Folders of movies, with their truth where there is one."""
    made = SynthParams(frames=frames, cells=100, cell_types=1, seed=5)
    found = [write_synthetic_movie(folder / "cells", made)]
    if NUCLEI.is_dir():
        drifted = DriftedParams(
            source=NUCLEI.name, image="img2d.tif", labels="mask2d.tif", seed=103, frames=frames
        )
        found.append(write_drifted_movie(folder / "nuclei", drifted, NUCLEI))
    if EMBRYO.is_dir():
        images = [tifffile.imread(path).max(-1) for path in sorted(EMBRYO.iterdir())]
        (folder / "embryo").mkdir()
        tifffile.imwrite(
            folder / "embryo" / "movie.ome.tif", np.stack(images), metadata={"axes": "TYX"}
        )
        found.append(folder / "embryo")
    return found


def commands_on(movie: Path, other: str | None) -> dict[str, list[str]]:
    """What is typed for each way of doing the pipeline; that of the script is the first."""
    file = movie / "movie.ome.tif"
    words = ["run", "pipeline", "--data", str(movie if (movie / "truth").is_dir() else file)]
    words += ["--workers", "1", "--repeats", "1", "--cache", "asis"]
    fast = [word for one in FAST for word in ("--set", one)]
    script = [sys.executable, __file__, "--script", str(file), "."]
    before = {"pyscale, other": [other, *words]} if other else {}
    ours = {"pyscale": [PYSCALE, *words], "pyscale, fast": [PYSCALE, *words, *fast]}
    return {SCRIPT: script} | before | ours


def timed(command: list[str], folder: Path) -> tuple[float, float]:
    """Processor time of a command and of all that it started, and its wall time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with (folder / "log").open("w") as log:
        subprocess.run(
            command, cwd=folder, env=os.environ | ONE_THREAD, stdout=log, stderr=log, check=True
        )
    wall_s = time.monotonic() - began
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall_s


def precision(folder: Path, truth: Path) -> float:
    """AP of the labels that a way has left."""
    found = [Movie.open(next(folder.rglob(LABELS))), Movie.open(truth)]
    pairs = zip(*(one.frames(0, one.n_frames, channel=0) for one in found), strict=True)
    return summed(match_cells(true, labels) for labels, true in pairs).average_precision


def script(movie: Path, folder: Path) -> None:
    """The pipeline as one would write it down."""
    import ants
    import torch
    from laptrack import LapTrack
    from scipy.ndimage import center_of_mass
    from scipy.spatial import Delaunay
    from skimage.restoration import denoise_wavelet

    from pyscale_stages.segment.networks import Cellpose3Segmenter
    from pyscale_stages.segment.params import embedded_model

    torch.set_num_threads(1)
    frames = tifffile.imread(movie).astype(np.float32)
    fixed, registered = ants.from_numpy(frames[0]), [frames[0]]
    for frame in frames[1:]:
        moving = ants.from_numpy(frame)
        found = ants.registration(fixed, moving, type_of_transform="Translation")
        moved = ants.apply_transforms(
            fixed, moving, found["fwdtransforms"], defaultvalue=float(np.percentile(frame, 1))
        )
        registered.append(moved.numpy())
    clean = np.stack([denoise_wavelet(frame, rescale_sigma=True) for frame in registered])
    tifffile.imwrite(folder / "frames.ome.tif", clean, compression="zlib", metadata={"axes": "TYX"})
    # Cellpose's own way with a network: its layout and batches.
    model = Cellpose3Segmenter(embedded_model("pyscale-tiny"), torch.device("cpu")).model
    model.net = model.net.to(memory_format=torch.contiguous_format)
    model.net.mkldnn = True
    labels = np.stack([model.eval(frame, channels=[0, 0])[0] for frame in clean])
    tifffile.imwrite(folder / LABELS, labels, compression="zlib", metadata={"axes": "TYX"})
    touching, centres = [], []
    for image in labels:
        pairs = [(image[:-1], image[1:]), (image[:, :-1], image[:, 1:])]
        ends = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
        ends = np.sort(ends[(ends.min(axis=1) > 0) & (ends[:, 0] != ends[:, 1])], axis=1)
        touching.append(np.unique(ends, axis=0, return_counts=True))
        centres.append(np.array(center_of_mass(image > 0, image, np.arange(1, image.max() + 1))))
    neighbours = [Delaunay(points).vertex_neighbor_vertices for points in centres]
    tracker = LapTrack(cutoff=15**2, splitting_cutoff=15**2)
    links = list(tracker.predict(centres).edges())
    contacts = sum(len(pairs) for pairs, _ in touching)
    print(contacts, "contacts;", len(neighbours), "graphs;", len(links), "links")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--script"]:
        script(Path(sys.argv[2]), Path(sys.argv[3]))
        sys.exit()
    given = dict(enumerate(sys.argv))
    sys.exit(main(int(given.get(1, 4)), given.get(2)))
