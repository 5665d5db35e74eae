"""Use of a process between two moments: CPU, memory, input and output, GPU."""

from __future__ import annotations

import resource
import sys
import threading
from pathlib import Path
from statistics import fmean
from typing import Any

from pyscale_stages.contract import Counters, Device
from pyscale_stages.errors import MissingPart
from pyscale_stages.measure.cgroups import kernel_text
from pyscale_stages.measure.gpus import first_visible, opened_nvml

OF_CHILDREN = 0.1
"""Share of the CPU time from which child processes do the work: the kernel does not add up how long
those that have ended waited for a core, so that the wait is not known."""
GPU_PERIOD_S = 0.1
"""Between two samples of the GPU. NVML's own utilisation spans 1/6 to 1 s."""


class UsageMeter:
    """Measures from its construction to `stop`.

    CPU time and bytes hold those of child processes that were waited for. Peak memory is that of
    the process since its program was started. With the device "cuda" a thread samples the GPU that
    CUDA calls device 0: memory is that of all processes on it.
    """

    def __init__(self, device: Device) -> None:
        self._gpu = _GpuSampler() if device == "cuda" else None
        self._io = _io_bytes()
        self._cpu_wait_s = _cpu_wait_s()
        # Read last here and first in `stop`, so that the other readings do not count.
        self._cpu_s, self._children_s = _cpu_s()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be measured although it was asked for."""
        return tuple(self._gpu.warnings) if self._gpu else ()

    def stop(self) -> Counters:
        """Stop sampling and say what was used; what was processed is for others to add."""
        now_s, children_s = _cpu_s()
        cpu_s, children_s = now_s - self._cpu_s, children_s - self._children_s
        waited_s = [
            # The number of a thread that ended may have been given to a new one.
            max(0.0, waited - self._cpu_wait_s.get(thread, 0.0))
            for thread, waited in _cpu_wait_s().items()
        ]
        io = {name: count - self._io[name] for name, count in _io_bytes().items()}
        return Counters(
            cpu_s=cpu_s,
            cpu_wait_s=sum(waited_s) if waited_s and children_s <= OF_CHILDREN * cpu_s else None,
            peak_rss_bytes=peak_rss_bytes(),
            read_bytes=io.get("rchar"),
            write_bytes=io.get("wchar"),
            storage_read_bytes=io.get("read_bytes"),
            **(self._gpu.stop() if self._gpu else {}),
        )


class _GpuSampler:
    """Samples GPU memory and utilisation in a daemon thread until told to stop."""

    def __init__(self) -> None:
        self.warnings: dict[str, None] = {}
        """Each thing that the GPU did not tell, once."""
        self._peak_bytes: int | None = None
        self._utilisations: list[float] = []
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="gpu-sampler", daemon=True)
        self._thread.start()

    def stop(self) -> dict[str, Any]:
        """Take a last sample, end the thread, and say what was found by the counters' names."""
        self._enough.set()
        self._thread.join()
        return {
            "gpu_peak_bytes": self._peak_bytes,
            "gpu_mean_utilisation": fmean(self._utilisations) if self._utilisations else None,
        }

    def _sample(self) -> None:
        try:
            with opened_nvml() as nvml:
                handle = first_visible(nvml)
                while True:
                    # Asked before the sample, so that one more is taken when the work has ended.
                    last = self._enough.is_set()
                    self._take(nvml, handle)
                    if last:
                        break
                    self._enough.wait(GPU_PERIOD_S)
        except MissingPart as error:
            self.warnings[str(error)] = None
        # An error that leaves a thread reaches no record.
        except Exception as error:
            self.warnings[f"the GPU was not sampled: {error}"] = None

    def _take(self, nvml: Any, handle: Any) -> None:
        try:
            used = int(nvml.nvmlDeviceGetMemoryInfo(handle).used)
            self._peak_bytes = max(used, self._peak_bytes or 0)
        except nvml.NVMLError as error:
            self.warnings[f"the GPU does not report its memory use: {error}"] = None
        try:
            self._utilisations.append(nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100)
        except nvml.NVMLError as error:
            self.warnings[f"the GPU does not report its utilisation: {error}"] = None


def _cpu_s() -> tuple[float, float]:
    """CPU time of the process with its children that have ended, and of these alone."""
    own_s, children_s = (
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    return own_s + children_s, children_s


def _cpu_wait_s() -> dict[str, float]:
    """How long each living thread has waited for a core; empty where the kernel does not tell."""
    found = {}
    for thread in Path("/proc/self/task").glob("*"):
        # Time on a core, time in wait for one, both in nanoseconds, and the number of turns.
        fields = kernel_text(thread / "schedstat").split()
        if len(fields) == 3:
            found[thread.name] = int(fields[1]) / 1e9
    return found


def _io_bytes() -> dict[str, int]:
    """Fields of /proc/self/io; empty where the kernel does not account or does not show them."""
    lines = kernel_text(Path("/proc/self/io")).splitlines()
    return {name: int(count) for name, _, count in (line.partition(": ") for line in lines)}


def peak_rss_bytes() -> int:
    """Peak resident memory of this program, in bytes, since it was started."""
    # `ru_maxrss` survives `exec`, and so may be the launcher's peak; the high-water mark does not.
    for line in kernel_text(Path("/proc/self/status")).splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS tells bytes, others KiB.
    return peak if sys.platform == "darwin" else peak * 1024
