"""Counters of a process, from real work; the GPU's from a scripted NVML."""

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from pyscale_stages.errors import MissingPart
from pyscale_stages.measure import pagecache, usage
from pyscale_stages.measure.usage import UsageMeter

pytestmark = pytest.mark.slow

MIB = 1 << 20
BURNT_S = 0.3
BURN = f"import time\nend = time.process_time() + {BURNT_S}\nwhile time.process_time() < end: pass"


def used_by(program):
    """Run a program between start and stop of a meter in a fresh process."""
    whole = (
        "import json, os, sys, subprocess\n"
        "from pyscale_stages.measure.usage import UsageMeter\n"
        f"meter = UsageMeter(device='cpu')\n{program}\nused = meter.stop()\n"
        "print(used.model_dump_json())\n"
    )
    # What it says on stderr is left to be seen: of a program that fails that is the reason.
    done = subprocess.run(
        [sys.executable, "-c", whole], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def test_cpu_time_is_that_between_start_and_stop():
    exec(BURN)
    meter = UsageMeter(device="cpu")
    exec(BURN)
    used = meter.stop()
    exec(BURN)
    # What it takes itself is far below a second time.
    assert BURNT_S <= used.cpu_s < 2 * BURNT_S


def test_cpu_time_of_children_counts_and_their_wait_for_a_core_is_not_known():
    meter = UsageMeter(device="cpu")
    subprocess.run([sys.executable, "-c", BURN], check=True)
    used = meter.stop()
    assert used.cpu_s >= BURNT_S
    # Not 0, which would make a busy machine look like work inflation.
    assert used.cpu_wait_s is None


def test_waiting_for_a_core_that_another_process_has_is_counted_and_is_no_cpu_time():
    core = min(os.sched_getaffinity(0))
    endless = f"import os; os.sched_setaffinity(0, {{{core}}}); print(flush=True)\nwhile True: pass"
    hog = subprocess.Popen([sys.executable, "-c", endless], stdout=subprocess.PIPE)
    try:
        hog.stdout.readline()  # It has the core by now, however busy the machine is.
        shared = used_by(f"os.sched_setaffinity(0, {{{core}}})\n{BURN}")
    finally:
        hog.kill()
        hog.communicate()
    # Two that always want the same core have it in turns.
    assert shared["cpu_wait_s"] > 0.1
    assert BURNT_S <= shared["cpu_s"] < BURNT_S + shared["cpu_wait_s"] / 2


def test_bytes_read_and_written_are_counted(disk):
    path = disk / "frames"
    meter = UsageMeter(device="cpu")
    path.write_bytes(bytes(3 * MIB))
    path.read_bytes()
    used = meter.stop()
    assert 3 * MIB <= used.read_bytes < 4 * MIB
    assert 3 * MIB <= used.write_bytes < 4 * MIB


def test_only_a_cold_read_reaches_the_disk(frames):
    assert pagecache.evict(frames).state == "verified-cold"
    meter = UsageMeter(device="cpu")
    frames.read_bytes()
    cold = meter.stop()
    warm = []
    for _ in range(5):
        meter = UsageMeter(device="cpu")
        frames.read_bytes()
        warm.append(meter.stop().storage_read_bytes)
    assert cold.storage_read_bytes >= 4 * MIB
    # The kernel may bring in a page of this very program at any time, or throw out the file's.
    assert None not in warm
    assert min(warm) < 1 * MIB


def test_a_kernel_without_accounting_leaves_none(monkeypatch):
    monkeypatch.setattr(usage, "_io_bytes", dict)
    used = UsageMeter(device="cpu").stop()
    assert (used.read_bytes, used.write_bytes, used.storage_read_bytes) == (None, None, None)


def test_macos_tells_peak_memory_in_bytes(monkeypatch):
    monkeypatch.setattr(usage, "kernel_text", lambda _file: "")
    in_kib = usage.peak_rss_bytes()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert usage.peak_rss_bytes() < in_kib / 512


def test_peak_memory_counts_what_was_freed_again():
    small = used_by("pass")["peak_rss_bytes"]
    large = used_by("block = b'x' * (100 << 20); del block")["peak_rss_bytes"]
    # The kernel keeps this mark in counters of each CPU: the more of them, the less exactly.
    assert large - small > 50 * MIB


def test_peak_memory_is_not_inherited_from_a_large_launcher():
    block = b"x" * (300 * MIB)
    assert used_by("pass")["peak_rss_bytes"] < 200 * MIB
    assert len(block) == 300 * MIB


class NvmlError(Exception):
    pass


class ScriptedNvml:
    """Answers as the NVML library does, from a script, and says when it has been asked."""

    NVMLError = NvmlError

    def __init__(self, used, busy_percent):
        self.used = used
        self.busy_percent = busy_percent
        self.handle = ""
        self.asked = 0
        self.half_way = threading.Event()

    def nvmlDeviceGetHandleByIndex(self, index):  # noqa: N802 - NVML's name
        self.handle = f"gpu{index}"
        return self.handle

    def nvmlDeviceGetHandleByUUID(self, uuid):  # noqa: N802
        self.handle = uuid
        return self.handle

    def nvmlDeviceGetMemoryInfo(self, handle):  # noqa: N802
        at = min(self.asked, len(self.used) - 1)
        self.asked += 1
        if self.asked == len(self.used):
            self.half_way.set()
        return SimpleNamespace(used=self.used[at])

    def nvmlDeviceGetUtilizationRates(self, handle):  # noqa: N802
        if self.busy_percent is None:
            raise NvmlError("Not Supported")
        return SimpleNamespace(gpu=self.busy_percent[min(self.asked, len(self.busy_percent)) - 1])


@pytest.fixture
def nvml(monkeypatch):
    scripted = ScriptedNvml(used=[1 * MIB, 7 * MIB, 2 * MIB], busy_percent=[50, 100, 0])

    @contextmanager
    def opened():
        yield scripted

    monkeypatch.setattr(usage, "opened_nvml", opened)
    monkeypatch.setattr(usage, "GPU_PERIOD_S", 0.001)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return scripted


def test_gpu_memory_is_the_peak_of_all_samples(nvml):
    meter = UsageMeter(device="cuda")
    nvml.half_way.wait()
    used = meter.stop()
    assert used.gpu_peak_bytes == 7 * MIB
    # 0.5, 1, then 0 for every further sample
    assert used.gpu_mean_utilisation == pytest.approx(1.5 / nvml.asked)
    assert meter.warnings == ()


def test_what_a_gpu_does_not_tell_is_none_with_a_warning(nvml):
    nvml.busy_percent = None
    meter = UsageMeter(device="cuda")
    used = meter.stop()
    assert used.gpu_mean_utilisation is None
    assert used.gpu_peak_bytes is not None
    assert meter.warnings == ("the GPU does not report its utilisation: Not Supported",)


@pytest.mark.parametrize(
    ("visible", "handle"), [("", "gpu0"), ("2,3", "gpu2"), ("GPU-6f1b", "GPU-6f1b")]
)
def test_the_first_visible_gpu_is_sampled(visible, handle, nvml, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    UsageMeter(device="cuda").stop()
    assert nvml.handle == handle


def test_without_nvml_the_gpu_counters_are_none_with_a_warning(monkeypatch):
    def absent():
        raise MissingPart("no NVML: pip install nvidia-ml-py")

    monkeypatch.setattr(usage, "opened_nvml", absent)
    meter = UsageMeter(device="cuda")
    used = meter.stop()
    assert (used.gpu_peak_bytes, used.gpu_mean_utilisation) == (None,) * 2
    assert meter.warnings == ("no NVML: pip install nvidia-ml-py",)


@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_without_an_nvidia_gpu_none_is_sampled(device):
    meter = UsageMeter(device=device)
    assert "gpu-sampler" not in {thread.name for thread in threading.enumerate()}
    used = meter.stop()
    assert (used.gpu_peak_bytes, used.gpu_mean_utilisation) == (None,) * 2
    assert meter.warnings == ()
