"""Whether there is a GPU to compute on; that it really computes, the stages are asked."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator

from pyscale.doctor.findings import Finding, beside_the_point, ok, problem
from pyscale.doctor.subject import Subject
from pyscale.placement import visible_gpus
from pyscale.slurm.commands import on_login_node
from pyscale_stages.contract import Device
from pyscale_stages.errors import MissingPart
from pyscale_stages.measure.gpus import Gpu, describe_gpus, gpu_present

_LATER = "ask for --device cuda to use it"


def gpu(subject: Subject) -> Iterator[Finding]:
    """Look for the device that the suite is to compute on."""
    yield {"cpu": _unasked, "cuda": _cuda, "mps": _mps}[subject.device]()
    if subject.device != "cpu":
        yield from _without_kernel(subject)


def _unasked() -> Finding:
    if not gpu_present():
        return beside_the_point("gpu.device", "no GPU is asked for, and this machine shows none")
    try:
        described = _in_words(describe_gpus())
    except MissingPart as error:
        described = f"one of which nothing is known: {error}"
    return beside_the_point(
        "gpu.device", f"no GPU is asked for; this machine has {described}", _LATER
    )


def _cuda() -> Finding:
    check = "gpu.device"
    if not gpu_present():
        if on_login_node():
            return problem(
                check,
                "this is a node outside of any job and has no NVIDIA GPU, as is usual of a login "
                "node: what is found here says nothing of the nodes that have one",
                "name their partition: pyscale doctor --device cuda --partition NAME",
            )
        return problem(
            check,
            "this machine shows no NVIDIA device",
            "run on a node with an NVIDIA GPU (in a container with --nv), or with --device cpu",
        )
    try:
        gpus = describe_gpus()
    except MissingPart as error:
        sentence, _, remedy = str(error).rpartition(": ")
        return problem(check, sentence, remedy)
    seen = visible_gpus()
    if not seen:
        return problem(
            check,
            f"{_in_words(gpus)} is here, and CUDA_VISIBLE_DEVICES="
            f"{os.environ.get('CUDA_VISIBLE_DEVICES', '')!r} hides it",
            "unset CUDA_VISIBLE_DEVICES, or ask the batch system for a GPU",
        )
    return ok(check, f"{_in_words(gpus)}; {len(seen)} for this process", value=_in_words(gpus))


def _mps() -> Finding:
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return ok("gpu.device", "this is a Mac with Apple silicon", value="mps")
    return problem(
        "gpu.device",
        f"mps is asked for, and this is {platform.system()} on {platform.machine()}",
        "run on a Mac with Apple silicon, or with another --device",
    )


def _without_kernel(subject: Subject) -> Iterator[Finding]:
    """Name the stages that compute on the CPU all the same."""
    others = [entry.name for entry in subject.entries if entry.device != subject.device]
    if others:
        yield beside_the_point(
            "gpu.stages",
            f"{_listed(others)} {'has' if len(others) == 1 else 'have'} no kernel for "
            f"{subject.device} and {'runs' if len(others) == 1 else 'run'} on the CPU",
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


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
