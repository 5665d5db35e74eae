"""Real files on a real disk, seen as root and as somebody who may only read them."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pyscale_stages.measure import residency

MIB = 1 << 20
NOBODY = 65534


@pytest.fixture
def disk(missing):
    """A folder that everybody may read, on a file system that is not in memory."""
    # pytest's own folders are closed to other users.
    folder = Path(tempfile.mkdtemp(prefix="pyscale-", dir="/var/tmp"))
    folder.chmod(0o755)
    descriptor = os.open(folder, os.O_RDONLY)
    magic = residency.filesystem_magic(descriptor)
    os.close(descriptor)
    if magic in residency.IN_MEMORY:
        shutil.rmtree(folder)
        missing("a disk", "/var/tmp lies in memory: mount a disk there")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def frames(disk):
    """A file of 4 MiB, on the disk and in the page cache."""
    path = disk / "frames.tif"
    path.write_bytes(os.urandom(4 * MIB))
    with path.open("rb") as file:
        os.fsync(file.fileno())
    path.chmod(0o644)
    return path


@pytest.fixture
def in_memory_folder(missing):
    if not Path("/dev/shm").is_dir():
        missing("tmpfs", "mount one at /dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="pyscale-", dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def as_reader(missing):
    """Call a function of `pagecache` on a path as a user who owns nothing and may write nothing."""
    if os.geteuid() != 0:
        missing("root", "run the tests as root, who alone can become another user")

    def call(function, path):
        # Imported and built before the change of user: the checkout may be closed to others.
        program = (
            "import os, sys\n"
            "from pathlib import Path\n"
            "from pyscale_stages.residency import Residency\n"
            "from pyscale_stages.measure import pagecache, residency\n"
            "Residency.model_rebuild(force=True); pagecache.Eviction.model_rebuild(force=True)\n"
            f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
            f"print(pagecache.{function}(Path(sys.argv[1])).model_dump_json())\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture
def mounted(disk):
    points = []

    def mount(*arguments):
        point = disk / f"mount{len(points)}"
        point.mkdir()
        done = subprocess.run(
            ["mount", *arguments, str(point)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            pytest.skip(
                f"the right to mount is absent: run the tests as root outside a container "
                f"({done.stderr.strip()})"
            )
        points.append(point)
        return point

    yield mount
    for point in reversed(points):
        subprocess.run(["umount", str(point)], check=True)
