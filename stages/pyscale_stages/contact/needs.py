"""What contacts need: a device of OpenCL, where they are measured by it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from pyscale_stages.contact.params import ContactParams
from pyscale_stages.contact.pixels import HOW_TO_GET
from pyscale_stages.contract import Device
from pyscale_stages.declaration import Needs
from pyscale_stages.errors import MissingPart

_ASK_PLATFORMS = """
import ctypes, sys
number = ctypes.c_uint(0)
code = ctypes.CDLL(sys.argv[1]).clGetPlatformIDs(0, None, ctypes.byref(number))
print(number.value if code == 0 else 0)
"""


def look(params: ContactParams, device: Device, here: bool) -> None:
    """Count OpenCL's platforms by the loader that pyclesperanto brings."""
    if not here or not params.uses_opencl(device):
        return
    spec = find_spec("pyclesperanto_opencl")
    if spec is None or spec.origin is None:
        return  # Another backend, or another way of packing it: the stage itself will say.
    libraries = Path(spec.origin).parent.with_name("pyclesperanto_opencl.libs")
    loaders = sorted(libraries.glob("libOpenCL*"))
    if not loaders:
        return
    asked = [sys.executable, "-S", "-c", _ASK_PLATFORMS, str(loaders[0])]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    if told.stdout.strip() == "0":
        raise MissingPart(f"no OpenCL device found on this machine: {HOW_TO_GET[device]}")


NEEDS = Needs(
    of_choice={("backend", "opencl"): (("pyclesperanto", "scipy"), "contact")},
    deciding=("backend",),
    look=look,
    try_out=lambda trying: trying.small(objects=2),
)
