"""Claim: comparing and measuring label images grows with the number of cells, not its square.

Three steps on frames of 200, 2,000 and 20,000 cells, 200 pixels a cell: contacts, the nearest
cell, and the matching of two segmentations. Each is done with matrices of all cells by all cells,
and as the stages do it; both must find the same. Every measurement has a process of its own, whose
growth in memory is that of the step.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.contact.labels import DenseLabels, densify
from pyscale_stages.contact.tables import nearest
from pyscale_stages.segment.agreement import match_cells

CELLS = (200, 2_000, 20_000)
PIXELS_A_CELL = 200
LARGEST_WITH_MATRICES = 2_000
"""With 20,000 cells a matrix has 3 to 4 GB, and its steps take minutes."""
GROWTH_BAR = 40.0
"""Ten times as many cells may take that many times as long; with matrices it is a hundred."""
REPEATS = 3

Answer = Any
Labels = npt.NDArray[np.uint32]


def main() -> int:
    """Print seconds and memory of both ways at every size; fail where a claim does not hold."""
    failures = []
    print(
        f"{'':<10}{'cells':>7}{'matrices':>12}{'pyscale':>12}{'ratio':>8}"
        f"{'matrices':>12}{'pyscale':>12}"
    )
    for name in STEPS:
        times = []
        for n_cells in CELLS:
            new_s, new_bytes, new_found = measured(name, n_cells, matrices=False)
            times.append(new_s)
            old_text, ratio, old_memory = ["not run"] * 3
            if n_cells <= LARGEST_WITH_MATRICES:
                old_s, old_bytes, old_found = measured(name, n_cells, matrices=True)
                old_text, ratio = f"{old_s:.4f} s", f"{old_s / new_s:.1f}"
                old_memory = f"{old_bytes / 2**20:.0f} MiB"
                if old_found != new_found:
                    failures.append(f"{name}: both ways differ at {n_cells} cells")
            new_memory = f"{new_bytes / 2**20:.0f} MiB"
            print(
                f"{name:<10}{n_cells:>7}{old_text:>12}{f'{new_s:.4f} s':>12}{ratio:>8}"
                f"{old_memory:>12}{new_memory:>12}"
            )
        growth = times[-1] / times[-2]
        print(f"{name:<10}{CELLS[-2]} to {CELLS[-1]} cells: {growth:.1f} times   bar {GROWTH_BAR}")
        if growth > GROWTH_BAR:
            failures.append(
                f"{name} grows {growth:.1f} times from {CELLS[-2]} to {CELLS[-1]} cells"
            )
    for failure in failures:
        print(failure)
    return 1 if failures else 0


def measured(name: str, n_cells: int, *, matrices: bool) -> tuple[float, int, str]:
    """Seconds, growth of memory in bytes and a hash of what a step finds."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measure, name, n_cells, matrices).result()


def _measure(name: str, n_cells: int, matrices: bool) -> tuple[float, int, str]:
    step = STEPS[name](n_cells, matrices)
    # Making the frame took memory too: from here on the kernel keeps the peak anew.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _status_bytes("VmRSS")
    found = step()
    memory = _status_bytes("VmHWM") - before
    times = []
    for _ in range(REPEATS):
        start = time.monotonic()
        step()
        times.append(time.monotonic() - start)
    digest = sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in found)).hexdigest()
    return min(times), memory, digest


def _status_bytes(key: str) -> int:
    """Read a size of this process from the kernel."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))


def contacts(n_cells: int, matrices: bool) -> Callable[[], Answer]:
    """Count the contacts of all cells: in a matrix of the device, or by NumPy."""
    from pyscale_stages.contact.pixels import (
        build_kernels,
        capacity_for,
        import_pyclesperanto,
        measure,
        measure_by_numpy,
        select_device,
    )

    cells = [densify(labels(n_cells, 9.0))]
    capacity = capacity_for(cells)
    if matrices:
        import_pyclesperanto()
        select_device("cpu")
        build_kernels(1, (cells[0].image.shape[0], cells[0].image.shape[1]), capacity)

    def step() -> Answer:
        pairs = (measure(cells, capacity) if matrices else measure_by_numpy(cells)).pairs
        return pairs.a, pairs.b, pairs.contact_px

    return step


def nearest_cells(n_cells: int, matrices: bool) -> Callable[[], Answer]:
    """Find the nearest cell of each."""
    from scipy.spatial import cKDTree  # noqa: F401 - so that its import is not timed
    from scipy.spatial.distance import cdist

    points = _points(n_cells)

    def dense() -> Answer:
        distance = cdist(points, points)
        np.fill_diagonal(distance, np.inf)
        index = np.argmin(distance, axis=1)
        return index, distance[np.arange(len(points)), index]

    return dense if matrices else lambda: nearest(points, points, same=True)


def matching(n_cells: int, matrices: bool) -> Callable[[], Answer]:
    """Match a segmentation with another whose cells lie a pixel elsewhere."""
    import fastremap  # noqa: F401 - so that its import is not timed
    import scipy.sparse.csgraph  # noqa: F401
    from cellpose.metrics import average_precision

    first, second = labels(n_cells, 7.0), labels(n_cells, 7.0, shift_px=1.2)

    def dense() -> Answer:
        _, matched, _, _ = average_precision(first, second, threshold=[0.5, 0.9])
        return (matched.astype(np.int64),)

    def sparse() -> Answer:
        found = match_cells(first, second)
        return (np.array([found.matched, found.matched_closely]),)

    return dense if matrices else sparse


def labels(n_cells: int, radius_px: float, shift_px: float = 0.0) -> Labels:
    """Discs about random points, cut where they meet, shape (Y, X)."""
    from scipy.spatial import cKDTree

    points = _points(n_cells)
    points += np.random.default_rng(1).normal(0, shift_px, points.shape)
    side = int(np.sqrt(n_cells * PIXELS_A_CELL))
    places = np.indices((side, side)).reshape(2, -1).T
    distance, nearest_point = cKDTree(points).query(places)
    image = np.where(distance < radius_px, nearest_point + 1, 0).reshape(side, side)
    # Points without a pixel have no number.
    cells: DenseLabels = densify(image.astype(np.uint32))
    return cells.image


def _points(n_cells: int) -> npt.NDArray[np.float64]:
    side = np.sqrt(n_cells * PIXELS_A_CELL)
    return np.random.default_rng(0).uniform(0, side, (n_cells, 2))


STEPS: dict[str, Callable[[int, bool], Callable[[], Answer]]] = {
    "contacts": contacts,
    "nearest": nearest_cells,
    "matching": matching,
}

if __name__ == "__main__":
    sys.exit(main())
