"""The kernel's limits of memory, as Slurm sets them for its jobs by cgroups."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

MEMORY = Path("/sys/fs/cgroup/memory")
"""Where the memory controller of cgroup v1 is mounted; of v2, Slurm needs systemd."""
HOW_TO_GET_THEM = "run as root where cgroup v1's memory controller is mounted and writable"


def can_limit_memory() -> bool:
    """Whether this process may make groups whose memory the kernel limits."""
    return MEMORY.is_dir() and os.access(MEMORY, os.W_OK)


def groups_of_jobs(pids: Iterable[int]) -> set[Path]:
    """Folders of the jobs' groups in which processes are."""
    found = set()
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
                _, controllers, path = line.split(":", 2)
                group = MEMORY / path.lstrip("/")
                jobs = [each for each in (group, *group.parents) if each.name.startswith("job_")]
                if controllers == "memory":
                    found.update(jobs)
    return found


def remove(groups: Iterable[Path]) -> None:
    """Remove groups whose processes have ended; Slurm may have been quicker."""
    for group in groups:
        for folder, _, _ in os.walk(group, topdown=False):
            with suppress(FileNotFoundError):
                Path(folder).rmdir()
