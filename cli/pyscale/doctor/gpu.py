"""Checks of the GPU of this machine, without computing on it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from pyscale.doctor.examined import is_native
from pyscale.findings import Finding, ok, problem, refused
from pyscale.planning.placement import visible_gpus
from pyscale.planning.plan import Plan
from pyscale.wording import listing
from pyscale_stages.errors import MissingPart
from pyscale_stages.measure.gpus import describe_gpus, gpu_present
from pyscale_stages.registry import load_stage

_BUILT_FOR = re.compile(r"^cuda\b.*= '(?P<version>(?P<major>\d+)[^']*)'", re.MULTILINE)
"""What torch's own `version.py` says of its build."""


def devices(plan: Plan) -> Iterator[Finding]:
    """Look for the devices that a plan computes on, in milliseconds."""
    asked = {plan.settings["device"], *(trial.device for trial in plan.trials)}
    if "cuda" in asked:
        found = _cuda()
        yield found
        if found.status == "ok":
            yield from torch_without_cuda(plan)


def _cuda() -> Finding:
    if not gpu_present():
        return problem(
            "gpu.device",
            "",
            "no NVIDIA GPU on this machine",
            "run on a node that has one (on a cluster `srun --gpus=1 pyscale doctor --device "
            "cuda`; in a container with --nv), or with --device cpu",
        )
    try:
        gpus = describe_gpus()
    except MissingPart as error:
        return refused("gpu.device", "", error)
    said = listing([gpu.name for gpu in gpus])
    seen = visible_gpus()
    if not seen:
        return problem(
            "gpu.device",
            f"CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', '')!r}",
            f"it hides {said}",
            "unset it, or ask the batch system for a GPU",
        )
    return ok("gpu.device", "", f"{said}; {len(seen)} for this process")


def torch_without_cuda(plan: Plan) -> Iterator[Finding]:
    """Name a torch of this environment that cannot use the GPU.

    Torch is not imported, which takes seconds: its build is read from the file that says it.
    """
    wanted = any(
        trial.device == "cuda" and is_native(trial) and "torch" in load_stage(trial.stage).packages
        for trial in plan.trials
    )
    torch = find_spec("torch")
    if not wanted or torch is None or torch.origin is None:
        return
    said = Path(torch.origin).with_name("version.py").read_text("utf-8")
    built_for = _BUILT_FOR.search(said)
    if built_for is None:
        do = "install a build of torch for CUDA, or use --device cpu"
        yield problem("gpu.torch", "torch", "built without CUDA", do)
        return
    try:
        driver = next((gpu.cuda for gpu in describe_gpus()), None)
    except MissingPart:
        driver = None  # Which the check of the device says.
    # Since CUDA 11 a driver serves all builds for its own major version.
    if driver is not None and int(driver.partition(".")[0]) < int(built_for["major"]):
        yield problem(
            "gpu.torch",
            "torch",
            f"built for CUDA {built_for['version']}, but the NVIDIA driver supports only CUDA "
            f"{driver}",
            "update the driver, or install a torch for a CUDA version that the driver supports",
        )
