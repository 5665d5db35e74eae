"""NVIDIA GPUs as their management library (NVML) describes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import Field

from pyscale_stages.contract import Record
from pyscale_stages.errors import MissingPart
from pyscale_stages.libraries import how_to_install

_DEVICE_FILES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))

# Bits of nvmlClocksEventReasons, from nvml.h.
_THROTTLE_REASONS = {
    0x001: "gpu_idle",
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}


class Gpu(Record):
    """One GPU; what its driver does not tell is None."""

    name: str | None
    uuid: str | None
    bus_id: str | None = Field(None, description="Place on the PCI bus")
    pcie_generation: int | None = Field(
        None, description="Of the fastest PCIe link that GPU and slot can have together"
    )
    pcie_lanes: int | None = Field(None, description="Of the widest such link")
    memory_bytes: int | None
    driver: str | None
    cuda: str | None = Field(description="Newest CUDA version that the driver supports")
    sm_clock_mhz: int | None = Field(description="Clock of the processors at the stamp")
    sm_clock_max_mhz: int | None
    memory_clock_mhz: int | None
    power_limit_w: float | None
    temperature_c: int | None
    ecc: bool | None
    mig: bool | None = Field(description="Whether the GPU is split into instances")
    throttle_reasons: tuple[str, ...] | None = Field(
        description="What holds the clocks down at the stamp"
    )


def gpu_present() -> bool:
    """Whether this machine shows an NVIDIA device; asks no library."""
    return any(file.exists() for file in _DEVICE_FILES)


@contextmanager
def opened_nvml() -> Iterator[Any]:
    """Yield the initialised `pynvml` module; raise `MissingPart` without library or driver."""
    try:
        import pynvml
    except ModuleNotFoundError as error:
        raise MissingPart(
            f"describing or sampling the GPU needs NVML: {how_to_install(missing=['nvidia-ml-py'])}"
        ) from error
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise MissingPart(
            f"the NVIDIA driver does not answer ({error}): start the container with --nv, "
            "or the job on a node with a GPU"
        ) from error
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def describe_gpus() -> tuple[Gpu, ...]:
    """Describe every GPU that NVML shows to this process, or raise `MissingPart`."""
    with opened_nvml() as nvml:
        try:
            count = nvml.nvmlDeviceGetCount()
            handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        except nvml.NVMLError as error:
            raise MissingPart(f"the NVIDIA driver does not list its GPUs: {error}") from error
        return tuple(_described(nvml, handle) for handle in handles)


def first_visible(nvml: Any) -> Any:
    """Handle of the GPU that CUDA calls device 0 in this process."""
    # `CUDA_VISIBLE_DEVICES` names it by number or UUID. Numbers are NVML's own where all GPUs of
    # the node are alike or `CUDA_DEVICE_ORDER` is `PCI_BUS_ID`.
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    if first and not first.isdigit():
        return nvml.nvmlDeviceGetHandleByUUID(first)
    return nvml.nvmlDeviceGetHandleByIndex(int(first or 0))


def cuda_version(number: int) -> str:
    """Version of CUDA as people write it, like 12.4, from its libraries' number, like 12040."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _described(nvml: Any, handle: Any) -> Gpu:
    def told(function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except nvml.NVMLError:
            return None  # Not supported by this GPU or not permitted to this user.

    memory = told(nvml.nvmlDeviceGetMemoryInfo, handle)
    pci = told(nvml.nvmlDeviceGetPciInfo_v3, handle)
    cuda = told(nvml.nvmlSystemGetCudaDriverVersion_v2)
    power_mw = told(nvml.nvmlDeviceGetPowerManagementLimit, handle)
    ecc = told(nvml.nvmlDeviceGetEccMode, handle)
    mig = told(nvml.nvmlDeviceGetMigMode, handle)
    reasons = told(nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
    return Gpu(
        name=told(nvml.nvmlDeviceGetName, handle),
        uuid=told(nvml.nvmlDeviceGetUUID, handle),
        bus_id=pci and pci.busId,
        # An idle GPU slows its link down, so that the current one tells of the moment alone.
        pcie_generation=told(nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle),
        pcie_lanes=told(nvml.nvmlDeviceGetMaxPcieLinkWidth, handle),
        memory_bytes=memory and int(memory.total),
        driver=told(nvml.nvmlSystemGetDriverVersion),
        cuda=cuda and cuda_version(cuda),
        sm_clock_mhz=told(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
        sm_clock_max_mhz=told(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
        memory_clock_mhz=told(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM),
        power_limit_w=None if power_mw is None else power_mw / 1000,
        temperature_c=told(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
        ecc=None if ecc is None else bool(ecc[0]),
        mig=None if mig is None else bool(mig[0]),
        throttle_reasons=None
        if reasons is None
        else tuple(name for bit, name in _THROTTLE_REASONS.items() if reasons & bit),
    )
