"""Claim: numba's cache makes the import of Cellpose 3 at most 0.6 times as long as a plain one.

A contact task by NumPy takes at most 0.35 times as long as by OpenCL, which builds kernels. What
starts a task on this machine takes at most 0.5 times as long as by submitit's local executor.
Each is a process of its own; the two ways take turns. Compared are user and system seconds of the
processes, which other work on the machine disturbs least.
"""

from __future__ import annotations

import json
import operator
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from submitit.local.local import LocalExecutor, LocalJob

from pyscale.store.records import TaskOrder
from pyscale.store.taskfiles import write_order
from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie

REPEATS = 6
SEGMENT_BAR = 0.6
CONTACT_BAR = 0.35
LAUNCH_BAR = 0.5
MOVIE = SynthParams(
    seed=3, frames=8, height_px=256, width_px=256, cells=50, cell_types=1, division_rate=0
)
KEPT = "from pyscale_stages.segment.models import import_cellpose; import_cellpose(3)"
PLAIN = "import cellpose.models"


def main() -> int:
    """Print medians and ratios; fail above a bar."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_synthetic_movie(folder / "movie", MOVIE)
        imports = compared(
            "import of Cellpose 3",
            {"functions kept": python("-c", KEPT), "plain": python("-c", PLAIN)},
        )
        contacts = compared(
            "contact task of 8 frames",
            {backend: contact(folder, backend) for backend in ("numpy", "opencl")},
        )
        starts = compared(
            "start of a task",
            {"launcher": launcher(folder / "task"), "submitit": submitit(folder / "submitit")},
        )
    bars = (SEGMENT_BAR, CONTACT_BAR, LAUNCH_BAR)
    return int(any(map(operator.gt, (imports, contacts, starts), bars)))


def compared(what: str, ways: dict[str, Callable[[], float]]) -> float:
    """Time two ways in turn, print both, and answer the ratio of their medians."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for repeat in range(-1, REPEATS):
        for name in ways if repeat % 2 else reversed(ways):
            cpu_s = ways[name]()
            # The first of each fills the caches that it keeps.
            if repeat >= 0:
                times[name].append(cpu_s)
    for name, values in times.items():
        spread = f"[{min(values):.2f}, {max(values):.2f}]"
        print(f"{what}, {name:<16} median {statistics.median(values):.2f} CPU-s   {spread}")
    first, second = (statistics.median(values) for values in times.values())
    print(f"ratio of medians {first / second:.3f}, {REPEATS} repeats")
    return first / second


def python(*arguments: str | Path) -> Callable[[], float]:
    """Run Python in a process of its own; answer its CPU seconds."""
    return cpu_of(lambda: run_python(*arguments))


def run_python(*arguments: str | Path) -> None:
    """Run Python with arguments, and wait for its end."""
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


def launcher(task: Path) -> Callable[[], float]:
    """Start a task that does nothing by its launcher; answer the CPU seconds of both."""
    task.mkdir()

    def start() -> None:
        token = write_order(task, TaskOrder(argv=("true",)))
        run_python("-m", "pyscale.executors.launch", "0", task, token)

    return cpu_of(start)


def submitit(folder: Path) -> Callable[[], float]:
    """Call what does nothing by submitit's local executor; answer the CPU seconds of all of it."""
    executor = LocalExecutor(folder)
    executor.update_parameters(timeout_min=5)

    def start() -> None:
        job = executor.submit(len, "nothing")
        assert isinstance(job, LocalJob)
        assert job._process is not None
        job._process.wait()

    return cpu_of(start)


def cpu_of(action: Callable[[], object]) -> Callable[[], float]:
    """Answer the CPU seconds of the processes that an action starts and waits for."""

    def run() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        action()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    return run


def contact(folder: Path, backend: str) -> Callable[[], float]:
    """Run a contact task on the true labels."""
    params = folder / f"{backend}.json"
    params.write_text(json.dumps({"backend": backend}), encoding="utf-8")
    labels = folder / "movie" / "truth" / "camera" / "labels_ch0.ome.tif"
    task = ("-m", "pyscale_stages", "contact", "run", "--input", labels, "--params", params)
    return python(*task, "--output", folder / backend)


if __name__ == "__main__":
    sys.exit(main())
