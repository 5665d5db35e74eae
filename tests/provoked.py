"""What makes a run scale worse, for real: each provocation is there while its block lasts."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from controlgroups import end_group

NO_FIGURES = Path(__file__).resolve().parent / "nofigures" / "sitecustomize.py"
CPU = Path("/sys/fs/cgroup/cpu")
BLOCK_IO = Path("/sys/fs/cgroup/blkio")
"""Where these controllers of cgroup v1 are mounted."""
HOW_TO_GET_THEM = "run as root where cgroup v1's cpu and blkio are mounted, with loop devices"
MOST_SHARES = 262_144
"""The kernel's largest; a process outside any group counts as 1024."""


def can_provoke():
    """Whether this process may make groups, and mount the file system of an image."""
    writable = all(os.access(folder, os.W_OK) for folder in (CPU, BLOCK_IO))
    return writable and os.access("/dev/loop-control", os.W_OK)


@contextmanager
def before_all_others():
    """Make a group whose processes get the cores before any other work of the machine.

    What else runs here would be a cause as good as the one that is provoked.
    """
    with _group(CPU) as group:
        (group / "cpu.shares").write_text(f"{MOST_SHARES}\n")
        yield group


@contextmanager
def busy_core(core, group, *, processes):
    """Keep a core busy by processes that never pause, and that have the rights of a group."""
    hog = ["taskset", "--cpu-list", str(core), sys.executable, "-c", "while True: pass"]
    hogs = [subprocess.Popen([*started_in(group), *hog]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in hogs:
            process.kill()
            process.wait()


@contextmanager
def slow_disk(mounted, *, bytes_per_s):
    """Make a group whose processes, all together, read from a file system only that fast."""
    device = mounted.stat().st_dev
    with _group(BLOCK_IO) as group:
        limit = f"{os.major(device)}:{os.minor(device)} {bytes_per_s}\n"
        (group / "blkio.throttle.read_bps_device").write_text(limit)
        yield group


@contextmanager
def disk_of_its_own(folder, *, mebibytes):
    """Mount a new file system, so that slowing its disk slows nothing else."""
    image, mounted = folder / "disk.img", folder / "disk"
    with image.open("wb") as file:
        file.truncate(mebibytes * 2**20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    mounted.mkdir()
    subprocess.run(["mount", "-o", "loop", image, mounted], check=True)
    try:
        yield mounted
    finally:
        subprocess.run(["umount", mounted], check=True)


def slow_interpreter(folder, *, seconds):
    """Give variables by which Python takes longer to start in each timed task.

    The interpreter imports `sitecustomize` by itself, before the program begins.
    """
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        NO_FIGURES.read_text() + "import sys, time\n"
        'if "pyscale_stages" in sys.orig_argv and "check" not in sys.orig_argv:\n'
        f"    time.sleep({seconds})\n"
    )
    return {"PYTHONPATH": str(folder)}


def started_in(*groups):
    """Words before a command that start it, and all that it starts, in groups."""
    joins = [f'echo $$ > "{group}/cgroup.procs"' for group in groups]
    return ["sh", "-c", " && ".join([*joins, 'exec "$0" "$@"'])]


@contextmanager
def _group(controller):
    """Make a group of a controller; with it goes what it asks of the kernel."""
    group = controller / f"pyscale-test-{os.getpid()}"
    group.mkdir()
    try:
        yield group
    finally:
        end_group(group)
