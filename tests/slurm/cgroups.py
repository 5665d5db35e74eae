"""The kernel's limits of memory, as Slurm sets them for its jobs by cgroups."""

import os
from pathlib import Path

MEMORY = Path("/sys/fs/cgroup/memory")
"""Where the memory controller of cgroup v1 is mounted; of v2, Slurm needs systemd."""
HOW_TO_GET_THEM = "run as root where cgroup v1's memory controller is mounted and writable"


def can_limit_memory():
    """Whether this process may make groups whose memory the kernel limits."""
    return MEMORY.is_dir() and os.access(MEMORY, os.W_OK)


def groups_of_jobs(ids, node="*"):
    """Folders of the groups of jobs, which Slurm names by node, user and job."""
    groups = MEMORY.glob(f"slurm_{node}/uid_*/job_*")
    return [group for group in groups if int(group.name.removeprefix("job_")) in ids]
