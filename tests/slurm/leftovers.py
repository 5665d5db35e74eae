"""What a cluster leaves behind when the tests die, and how it is found and ended."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from slurm import cgroups

FOLDER_PREFIX = "pyscale-slurm-"
OWNER_FILE = "owner.json"
END_S = 60.0
PR_SET_PDEATHSIG = 1


def new_folder() -> Path:
    """A folder for a cluster, which says which process it belongs to."""
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    owner = {"pid": os.getpid(), "created": _creation_time(os.getpid())}
    (folder / OWNER_FILE).write_text(json.dumps(owner))
    return folder


def clear_leftovers() -> None:
    """End and remove the clusters of tests that died."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        with suppress(FileNotFoundError):
            owner = json.loads((folder / OWNER_FILE).read_text())
            if _creation_time(owner["pid"]) != owner["created"]:
                end(processes_of(folder))
                shutil.rmtree(folder)


def processes_of(folder: Path) -> list[psutil.Process]:
    """Processes that work in a folder, hold a file of it open or name it, and what they started.

    The keeper of a job's step has overwritten its environment; its log and folder tell it.
    """
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            named = [*process.cmdline(), process.environ().get("SLURM_CONF", ""), process.cwd()]
            paths = [*named, *(file.path for file in process.open_files())]
            ours = any(f"{folder}/" in f"{path}/" for path in paths)
            if ours and process.pid != os.getpid():
                family = [process, *process.children(recursive=True)]
                found |= {each.pid: each for each in family}
    return list(found.values())


def names_of(processes: Iterable[psutil.Process]) -> set[str]:
    """Names of the programs that some processes run, as far as they still do."""
    found = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            found.add(process.name())
    return found


def end(processes: Sequence[psutil.Process]) -> None:
    """Kill processes and wait until they are gone, with the groups of their jobs."""
    groups = cgroups.groups_of_jobs(process.pid for process in processes)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _, alive = psutil.wait_procs(processes, timeout=END_S)
    if alive:
        raise RuntimeError(f"these processes did not end: {alive}")
    cgroups.remove(groups)


def _creation_time(pid: int) -> float | None:
    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return None


def end_with_parent() -> None:
    """Ask the kernel to kill this process when the one that started it dies."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
