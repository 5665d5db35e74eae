import json
import os
import resource
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from pyscale_stages.measure import gpus, pagecache, stamp
from pyscale_stages.measure.nodename import host_name, node_name


def test_it_describes_this_machine_in_plain_json(frames):
    found = stamp.take([frames])
    assert found.node == os.uname().nodename
    assert found.cpu.model in found.label
    assert found.memory.total_bytes >= found.memory.available_bytes > 0
    assert found.clock_source
    assert found.kernel_version == os.uname().version
    assert found.memory.used_bytes > 0
    assert found.open_files == resource.getrlimit(resource.RLIMIT_NOFILE)
    assert found.filesystems[0].path == frames
    found = stamp.collect([frames])
    assert json.loads(json.dumps(found)) == found
    assert stamp.Stamp.model_validate(found).model_dump(mode="json") == found


def test_files_of_one_folder_share_an_entry(disk, in_memory_folder):
    files = [folder / name for folder in (disk, in_memory_folder) for name in ("a", "b")]
    for file in files:
        file.touch()
    assert [entry.path for entry in stamp.take(files).filesystems] == [files[0], files[2]]


def test_only_named_variables_leave_the_environment_and_what_the_launcher_said(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    for name in ("SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "SLURM_SUBMIT_HOST", "API_TOKEN", "USER"):
        monkeypatch.setenv(name, "never-to-be-seen")
    found = stamp.take()
    assert found.threads["OMP_NUM_THREADS"] == "3"
    assert found.slurm == {"SLURM_JOB_ID": "42", "SLURM_RESTART_COUNT": "1"}
    assert "never-to-be-seen" not in found.model_dump_json()
    monkeypatch.setenv(stamp.IMAGE_VARIABLE, "ab" * 32)
    monkeypatch.setenv(stamp.COMMIT_VARIABLE, "c0ffee")
    assert stamp.take().image_sha256 == "ab" * 32
    assert stamp.take().git_commit == "c0ffee"


class Nvml:
    """Tells of one GPU its name and its link, and of the rest that it is not supported."""

    class NVMLError(Exception):
        pass

    def __getattr__(self, name):
        told = {
            "nvmlDeviceGetCount": lambda: 1,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetName": lambda _handle: "H100",
            "nvmlDeviceGetPciInfo_v3": lambda _handle: SimpleNamespace(busId="0000:02:00.0"),
            "nvmlDeviceGetMaxPcieLinkGeneration": lambda _handle: 5,
            "nvmlDeviceGetMaxPcieLinkWidth": lambda _handle: 16,
        }
        if not name.startswith("nvml"):
            return 0
        return told.get(name, self._refuse)

    def _refuse(self, *_arguments):
        raise self.NVMLError("Not Supported")


def test_a_gpu_has_its_place_on_the_bus_and_its_link_and_nothing_that_is_not_told(monkeypatch):
    monkeypatch.setattr(gpus, "opened_nvml", lambda: nullcontext(Nvml()))
    (found,) = gpus.describe_gpus()
    assert (found.bus_id, found.pcie_generation, found.pcie_lanes) == ("0000:02:00.0", 5, 16)
    assert (found.name, found.memory_bytes, found.ecc) == ("H100", None, None)


def test_a_gpu_that_cannot_be_described_is_said(monkeypatch):
    if gpus.gpu_present():
        pytest.skip("a machine without a GPU driver is absent: run on a node without a GPU")
    monkeypatch.setattr(stamp, "gpu_present", lambda: True)
    found = stamp.take()
    assert found.gpus == ()
    assert "nvidia-ml-py" in found.gpu_reason or "driver" in found.gpu_reason


def test_the_runner_loads_no_library_for_it_before_the_work_begins():
    program = (
        "import sys, pyscale_stages.runner; "
        "print([n for n in ('psutil', 'pynvml', 'numpy.ma', 'torch') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_node_is_called_what_slurm_calls_it_and_outside_a_job_what_the_host_is(
    monkeypatch, frames
):
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)
    assert node_name() == host_name() == os.uname().nodename
    monkeypatch.setenv("SLURMD_NODENAME", "n17")
    assert node_name() == "n17"
    assert host_name() == os.uname().nodename
    assert stamp.take().node == "n17"
    assert pagecache.evict(frames).node == "n17"
    assert "SLURMD_NODENAME" in stamp.SLURM_VARIABLES
