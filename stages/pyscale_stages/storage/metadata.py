"""Small files: how many can be created, looked at, listed, read and deleted in a second.

One operation follows the other, as in a script. Names and attributes that were just made are in
the node's memory, and no call of an ordinary user drops them: what is read is driven out of the
page cache beforehand, what is known of the files is not.
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pyscale_stages.storage.reads import DamagedRead, add, latency_details, prepare
from pyscale_stages.storage.stage import StorageParams
from pyscale_stages.task import Task

NAME = "metadata"


def measure_metadata(task: Task[StorageParams], folder: Path, repeat: int) -> None:
    """Create small files in a new folder, look at them, list, read and delete them."""
    params = task.params
    folder.mkdir()
    rng = np.random.default_rng([task.spec.seed, repeat])
    content = rng.bytes(params.small_file_bytes)
    paths = [str(folder / f"file{number:07d}") for number in range(params.small_files)]
    # In another order than they were made in, as files of many workers are.
    shuffled = [paths[index] for index in rng.permutation(len(paths))]
    with task.span("write"):
        made = _each(paths, lambda path: _create(path, content))
    with task.span("compute"):
        looked_at = _each(shuffled, os.stat)
        listed_s = _listed_s(folder, len(paths))
        proof = prepare(
            [Path(path) for path in shuffled], "cold", drop_caches=task.params.drop_caches
        )
    with task.span("read"):
        read = _each(shuffled, _read)
    with task.span("compute"):
        for path in paths:
            if _read(path) != content:
                raise DamagedRead(f"{path} was not read as it was written")
        deleted = _each(shuffled, os.unlink)
        folder.rmdir()
    size, files = {"file_bytes": float(params.small_file_bytes)}, float(len(paths))
    for operation, (wall_s, details), more in (
        ("create", made, size),
        ("stat", looked_at, {}),
        ("list", (listed_s, {}), {}),
        ("read", read, size | proof.details),
        ("delete", deleted, {}),
    ):
        add(
            task,
            f"{NAME}_{operation}",
            wall_s,
            repeat=repeat,
            amount=files,
            unit="file",
            bottleneck="metadata",
            cache=proof.state if operation == "read" else None,
            details=details | more | {"files": files, "files_per_s": files / wall_s},
        )


def _each(paths: Sequence[str], do: Callable[[str], object]) -> tuple[float, dict[str, float]]:
    """Time an operation on each file: seconds for all, and latencies."""
    clock = time.perf_counter_ns
    # Its room is made before the clock starts.
    latency_ns = array("q", bytes(8 * len(paths)))
    begin = clock()
    for number, path in enumerate(paths):
        before = clock()
        do(path)
        latency_ns[number] = clock() - before
    return (clock() - begin) / 1e9, latency_details(latency_ns)


def _listed_s(folder: Path, files: int) -> float:
    """Time the listing of a folder that must hold so many files."""
    begin = time.perf_counter_ns()
    with os.scandir(folder) as entries:
        found = sum(1 for _ in entries)
    wall_s = (time.perf_counter_ns() - begin) / 1e9
    if found != files:
        raise DamagedRead(f"{folder} lists {found} files, but {files} were made in it")
    return wall_s


def _create(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)
