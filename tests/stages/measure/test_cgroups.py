"""Limits of control groups, from trees laid out as the kernel lays them out."""

import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from controlgroups import end_group
from pyscale_stages.measure import cgroups

GIB = 1 << 30


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")


@pytest.fixture
def version_2(tmp_path):
    proc, mount = tmp_path / "proc", tmp_path / "cgroup"
    write(proc / "cgroup", "0::/job/step")
    write(proc / "mountinfo", f"31 23 0:28 / {mount} rw,nosuid shared:9 - cgroup2 cgroup2 rw")
    write(mount / "job/step/memory.max", "max")
    write(mount / "job/step/cpu.max", "max 100000")
    return tmp_path


def test_no_limit_is_none_and_the_tightest_on_the_way_up_counts(version_2):
    limits = cgroups.limits(version_2 / "proc")
    assert limits.version == "2"
    assert (limits.memory_bytes, limits.cpus) == (None, None)
    mount = version_2 / "cgroup"
    write(mount / "job/memory.max", str(4 * GIB))
    write(mount / "job/step/memory.max", str(8 * GIB))
    write(mount / "job/step/cpu.max", "150000 100000")
    write(mount / "job/cpu.max", "400000 100000")
    limits = cgroups.limits(version_2 / "proc")
    assert limits.memory_bytes == 4 * GIB
    assert limits.cpus == 1.5


def test_paths_count_from_what_is_mounted_where_version_1_has_several_hierarchies(tmp_path):
    proc, mount = tmp_path / "proc", tmp_path / "cgroup"
    write(proc / "cgroup", "0::/docker/abc/work")
    write(proc / "mountinfo", f"31 23 0:28 /docker/abc {mount} ro - cgroup2 cgroup2 rw")
    write(mount / "work/memory.max", str(2 * GIB))
    assert cgroups.limits(proc).memory_bytes == 2 * GIB
    memory, cpu = tmp_path / "memory", tmp_path / "cpu"
    write(proc / "cgroup", "4:memory:/slurm/job_7\n2:cpu,cpuacct:/slurm/job_7")
    write(
        proc / "mountinfo",
        f"35 31 0:32 / {memory} rw - cgroup cgroup rw,memory\n"
        f"32 31 0:29 / {cpu} rw - cgroup cgroup rw,cpu,cpuacct",
    )
    write(memory / "memory.limit_in_bytes", "9223372036854771712")
    write(memory / "slurm/job_7/memory.limit_in_bytes", str(3 * GIB))
    write(cpu / "cpu.cfs_quota_us", "-1")
    write(cpu / "cpu.cfs_period_us", "100000")
    write(cpu / "slurm/job_7/cpu.cfs_quota_us", "50000")
    write(cpu / "slurm/job_7/cpu.cfs_period_us", "100000")
    limits = cgroups.limits(proc)
    assert (limits.version, limits.memory_bytes, limits.cpus) == ("1", 3 * GIB, 0.5)


def test_a_machine_without_control_groups_sets_no_limit(tmp_path):
    limits = cgroups.limits(tmp_path)
    assert (limits.version, limits.memory_bytes, limits.cpus) == ("none", None, None)


def test_a_real_limit_of_this_machine_is_found():
    version_1 = Path("/sys/fs/cgroup/memory")
    parent, file = (
        (version_1, "memory.limit_in_bytes")
        if version_1.is_dir()
        else (Path("/sys/fs/cgroup"), "memory.max")
    )
    group = parent / f"pyscale-{uuid.uuid4().hex[:8]}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"a writable control group is absent ({error.strerror}): run as root")
    try:
        if not (group / file).exists():
            pytest.skip("the memory controller is absent here: delegate it to this group")
        (group / file).write_text(str(GIB))
        program = (
            "import os, sys\n"
            f"open('{group}/cgroup.procs', 'w').write(str(os.getpid()))\n"
            "from pyscale_stages.measure import cgroups\n"
            "print(cgroups.limits().memory_bytes)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        assert int(done.stdout) == GIB
    finally:
        end_group(group)
