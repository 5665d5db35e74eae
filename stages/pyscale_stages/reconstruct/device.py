"""The device of a rank and its memory, and the check that all ranks have the same."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from pyscale_stages.contract import Device
from pyscale_stages.errors import BadInput, StageError
from pyscale_stages.measure.cgroups import limits
from pyscale_stages.measure.usage import peak_rss_bytes
from pyscale_stages.reconstruct.params import ReconstructParams
from pyscale_stages.reconstruct.place import Place
from pyscale_stages.torchdevice import name_of, require_working

LOCAL_RANK_VARIABLE = "SLURM_LOCALID"
"""Number of this process among those of its job on this node."""
UNEQUAL_SHARE = 0.1
"""By how much memory of GPUs may differ, as a share of the largest."""


@dataclass(frozen=True)
class Report:
    """What a rank tells the others of itself before they begin."""

    place: Place
    device: str
    uuid: str
    """Of a GPU; empty for a processor."""
    memory_total_bytes: int
    weights: str
    asked: str
    """Seed and parameters, but for the file of weights, which need not lie at one place."""

    @classmethod
    def of(
        cls, place: Place, device: torch.device, weights: str, params: ReconstructParams, seed: int
    ) -> Report:
        """Return that of this rank."""
        uuid = ""
        if device.type == "cuda":
            uuid = str(torch.cuda.get_device_properties(device).uuid)
        asked = f"{seed} {params.model_dump_json(exclude={'weights'})}"
        return cls(place, name_of(device), uuid, memory_total_bytes(device), weights, asked)

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Report:
        """Return that of another rank from what it told, which is `dataclasses.asdict` of it."""
        return cls(**{**told, "place": Place(**told["place"])})


def backend_of(kind: Device) -> str:
    """What carries tensors between devices of a kind, as `torch.distributed` names it."""
    # The ranks' own meetings go by the host's memory.
    return "cpu:gloo,cuda:nccl" if kind == "cuda" and dist.is_nccl_available() else "gloo"


def prepared(kind: Device, rank: int, threads: int) -> torch.device:
    """Set torch up for one rank, and return its device, which works.

    Single precision is not shortened (TF32), so that ranks compute what one alone does.

    `rank`: of all ranks; it tells which GPU is this rank's where all are visible and no scheduler
    says which process of the node this is.
    """
    if kind == "mps":
        raise BadInput(
            "reconstruct cannot run on the device mps, because torch exchanges nothing between "
            "such devices: use --device cpu or cuda"
        )
    torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if kind == "cpu":
        return torch.device("cpu")
    visible = torch.cuda.device_count()
    here = int(os.environ.get(LOCAL_RANK_VARIABLE, rank))
    device = torch.device("cuda", here % visible if visible else 0)
    require_working(device)
    torch.cuda.set_device(device)
    return device


def memory_total_bytes(device: torch.device) -> int:
    """Memory of the GPU, or what this process may have of its node's."""
    if device.type == "cuda":
        import torch

        return int(torch.cuda.get_device_properties(device).total_memory)
    of_node = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(of_node, limits().memory_bytes or of_node)


def memory_left_bytes(device: torch.device) -> int | None:
    """Memory of the node that this process may still take; None for that of a GPU.

    A GPU refuses what it does not have. A processor is given memory before it is there, and who
    then uses it is killed.
    """
    if device.type == "cuda":
        return None
    import psutil

    available = int(psutil.virtual_memory().available)
    allowed = limits().memory_bytes
    return available if allowed is None else min(available, allowed - peak_rss_bytes())


def memory_peak_bytes(device: torch.device) -> int:
    """Most that this process has held: of the GPU's memory, or of the node's."""
    if device.type == "cuda":
        import torch

        return torch.cuda.max_memory_reserved(device)
    return peak_rss_bytes()


def refuse_unequal(reports: Sequence[Report]) -> None:
    """Refuse ranks that cannot do equal shares of one image, which all of them find alike."""
    first = reports[0]
    for report in reports:
        if report.asked != first.asked:
            raise BadInput(
                f"{first.place} and {report.place} have different parameters or seeds: give all "
                "ranks the same --params and --seed"
            )
        if report.weights != first.weights:
            raise BadInput(
                f"{first.place} has the weights {first.weights}, but {report.place} has "
                f"{report.weights}: give all ranks one file, on storage that all of them see"
            )
    on_gpu = [report for report in reports if report.uuid]
    owners: dict[tuple[str, str], Report] = {}
    for report in on_gpu:
        other = owners.setdefault((report.place.node, report.uuid), report)
        if other is not report:
            raise StageError(
                f"{report.place} and rank {other.place.rank} have the same {report.device}, but "
                "tensors go only between different GPUs: give each rank its own GPU"
            )
    if not on_gpu:
        return
    largest = max(on_gpu, key=lambda report: report.memory_total_bytes)
    smallest = min(on_gpu, key=lambda report: report.memory_total_bytes)
    if smallest.memory_total_bytes < (1 - UNEQUAL_SHARE) * largest.memory_total_bytes:
        raise StageError(
            f"{smallest.place} has {_gib(smallest)} ({smallest.device}), but {largest.place} has "
            f"{_gib(largest)} ({largest.device}): use nodes with GPUs of one kind, because the "
            "smallest limits all"
        )


def _gib(report: Report) -> str:
    return f"{report.memory_total_bytes / 2**30:.1f} GiB"
