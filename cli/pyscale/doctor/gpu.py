"""Checks of the GPU of this machine, without computing on it."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from pyscale.doctor.findings import Finding, beside_the_point, ok, problem, refused
from pyscale.doctor.subject import Subject
from pyscale.planning.placement import is_apple_silicon, visible_gpus
from pyscale.report.wording import listing
from pyscale.slurm.commands import on_login_node
from pyscale_stages.contract import Device
from pyscale_stages.errors import MissingPart
from pyscale_stages.measure.gpus import Gpu, describe_gpus, gpu_present

_VERSION = re.compile(r"^__version__ = '(?P<version>[^']+)'", re.MULTILINE)
_BUILT_FOR = re.compile(r"^cuda\b.*= '(?P<version>(?P<major>\d+)[^']*)'", re.MULTILINE)
"""What torch's own `version.py` says of its build."""
_LATER = "use --device cuda to run on it"


def gpu(subject: Subject) -> Iterator[Finding]:
    """Look for the devices that the suite is to compute on."""
    asked = {subject.device, *(entry.device for entry in subject.entries)}
    if asked == {"cpu"}:
        yield _unasked()
    if "cuda" in asked:
        found = _cuda()
        yield found
        if found.status != "problem":
            yield from torch_without_cuda(subject)
    if "mps" in asked:
        yield _mps()
    if subject.device != "cpu":
        yield from _without_kernel(subject)


def _unasked() -> Finding:
    if not gpu_present():
        return beside_the_point("gpu.device", "this run needs no GPU, and this machine has none")
    try:
        described = _in_words(describe_gpus())
    except MissingPart as error:
        described = f"one that cannot be queried: {error}"
    return beside_the_point(
        "gpu.device", f"this run needs no GPU; this machine has {described}", _LATER
    )


def _cuda() -> Finding:
    check = "gpu.device"
    if not gpu_present():
        if on_login_node():
            return problem(
                check,
                "this node is outside any job and has no NVIDIA GPU, as is usual for a login "
                "node: the GPU nodes were not checked",
                "name their partition: pyscale doctor --device cuda --partition NAME",
            )
        return problem(
            check,
            "no NVIDIA device found on this machine",
            "run on a node with an NVIDIA GPU (in a container with --nv), or with --device cpu",
        )
    try:
        gpus = describe_gpus()
    except MissingPart as error:
        return refused(check, error)
    seen = visible_gpus()
    if not seen:
        return problem(
            check,
            f"CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', '')!r} hides "
            f"{_in_words(gpus)}",
            "unset CUDA_VISIBLE_DEVICES, or ask the batch system for a GPU",
        )
    return ok(check, f"{_in_words(gpus)}; {len(seen)} for this process")


def _mps() -> Finding:
    if is_apple_silicon():
        return ok("gpu.device", "this is a Mac with Apple silicon")
    return problem(
        "gpu.device",
        f"--device mps needs a Mac with Apple silicon; this is {platform.system()} on "
        f"{platform.machine()}",
        "run on a Mac with Apple silicon, or use another --device",
    )


def _without_kernel(subject: Subject) -> Iterator[Finding]:
    """Name the stages that compute on the CPU all the same."""
    device = subject.device
    others = [one.name for one in subject.entries if device not in one.definition.resources.devices]
    if others:
        has, runs = ("has", "runs") if len(others) == 1 else ("have", "run")
        said = f"{listing(others)} {has} no kernel for {device} and {runs} on the CPU"
        yield beside_the_point("gpu.stages", said)


def torch_without_cuda(subject: Subject) -> Iterator[Finding]:
    """Name a torch of this environment that cannot use the GPU, in milliseconds.

    Torch is not imported, which takes seconds: its build is read from the file that says it. An
    image has a torch of its own.
    """
    wanted = any(
        entry.device == "cuda" and "torch" in entry.definition.packages for entry in subject.entries
    )
    torch = find_spec("torch")
    if subject.runtime != "native" or not wanted or torch is None or torch.origin is None:
        return
    check, said = "gpu.torch", Path(torch.origin).with_name("version.py").read_text("utf-8")
    release, built_for = _VERSION.search(said), _BUILT_FOR.search(said)
    name = f"torch {release['version']}" if release else "torch"
    if built_for is None:
        yield problem(
            check,
            f"{name} of this environment is built without CUDA",
            "install a build of torch for CUDA, or use --device cpu",
        )
        return
    try:
        driver = next((gpu.cuda for gpu in describe_gpus()), None)
    except MissingPart:
        driver = None  # Which the check of the device says.
    # Since CUDA 11 a driver serves all builds for its own major version.
    if driver is not None and int(driver.partition(".")[0]) < int(built_for["major"]):
        yield problem(
            check,
            f"{name} is built for CUDA {built_for['version']}, but the NVIDIA driver supports "
            f"only CUDA {driver}",
            "update the driver, or install a torch for a CUDA version that the driver supports",
        )


def missing_device(device: Device) -> Finding | None:
    """Problem with the device that was asked for, in milliseconds; None where it is there."""
    if device == "cpu":
        return None
    found = _cuda() if device == "cuda" else _mps()
    return found if found.status == "problem" else None


def _in_words(gpus: tuple[Gpu, ...]) -> str:
    names = [
        f"{gpu.name} ({(gpu.memory_bytes or 0) / 2**30:.0f} GiB, driver {gpu.driver})"
        for gpu in gpus
    ]
    return " and ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names)) or "none"
