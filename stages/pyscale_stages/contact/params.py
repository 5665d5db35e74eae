"""Parameters of the contact stage."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pyscale_stages.contract import Device, Method, StageParams
from pyscale_stages.errors import BadInput


class ContactParams(StageParams):
    """How contacts are measured."""

    backend: Literal["auto", "numpy", "opencl"] = Field(
        "auto",
        description="What measures pixels: NumPy, or pyclesperanto on OpenCL; 'auto' is NumPy on a "
        "processor, which needs no kernels to be built, and OpenCL on a GPU",
    )
    kernel_cache: Literal["none", "user"] = Field(
        "none",
        description="Compiled OpenCL kernels: 'none' builds them in every task, so model_load is "
        "always the same; 'user' uses and fills the caches in the home folder, so model_load "
        "depends on earlier runs",
    )

    def uses_opencl(self, device: Device) -> bool:
        """Whether pixels are measured by OpenCL on this kind of device; NumPy has only the CPU."""
        if self.backend == "numpy" and device != "cpu":
            raise BadInput(f"backend numpy does not run on {device}: use --device cpu")
        return self.backend == "opencl" or (self.backend == "auto" and device != "cpu")


def method(params: ContactParams, device: Device) -> Method:
    """What measures the pixels."""
    if not params.uses_opencl(device):
        return Method("NumPy", "touching pixels", versioned="numpy", packages=("numpy", "scipy"))
    return Method(
        "pyclesperanto",
        versioned="pyclesperanto",
        packages=("pyclesperanto",),
        cites=("haase2020",),
    )
