"""The place, the device and the memory of a rank, and the check that all ranks have the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist

from pyscale_stages.contract import Device
from pyscale_stages.errors import BadInput, ResourceExhausted, as_stage_error
from pyscale_stages.measure.cgroups import limits
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.measure.usage import peak_rss_bytes
from pyscale_stages.ranks.group import Group
from pyscale_stages.ranks.rank_failure import LostRank
from pyscale_stages.torchdevice import require_working

LOCAL_RANK_VARIABLE = "SLURM_LOCALID"
"""Number of this process among those of its job on this node."""


@contextmanager
def told(place: str) -> Iterator[None]:
    """Have errors say in which rank on which node they arose (`place`), and what spares memory."""
    try:
        yield
    except LostRank:
        raise
    except Exception as raised:
        known = as_stage_error(raised)
        if known is None:
            raise
        if isinstance(known, ResourceExhausted) and "memory" in str(known):
            raise ResourceExhausted(
                f"{what_ran_out(known)} in {place}: lower size_px, tile_px or tiles_at_once, start "
                "more ranks, or give each rank more memory"
            ) from raised
        raise type(known)(f"{place}: {known}") from raised


def what_ran_out(error: ResourceExhausted) -> str:
    """What an error says, without the advice that stages of frames are given."""
    return str(error).rpartition(": ")[0] or str(error)


def backend_of(kind: Device) -> str:
    """What carries tensors between devices of a kind, as `torch.distributed` names it."""
    # The ranks' own meetings go by the host's memory.
    return "cpu:gloo,cuda:nccl" if kind == "cuda" and dist.is_nccl_available() else "gloo"


def prepared(kind: Device, rank: int, threads: int) -> torch.device:
    """Set torch up for one rank, with unshortened single precision, and return its device."""
    # `rank`, of all ranks, tells which visible GPU is its own where no scheduler does.
    torch.set_num_threads(threads)
    # With TF32 no two ways to compute would agree to 1e-6.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if kind == "cpu":
        return torch.device("cpu")
    visible = torch.cuda.device_count()
    here = int(os.environ.get(LOCAL_RANK_VARIABLE, rank))
    # A scheduler may show each rank its own GPU alone, which is then number 0.
    device = torch.device("cuda", here % visible if visible else 0)
    require_working(device)
    torch.cuda.set_device(device)
    return device


def memory_total_bytes(device: torch.device) -> int:
    """Memory of the GPU, or what this process may have of its node's."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    of_node = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(of_node, limits().memory_bytes or of_node)


def memory_left_bytes(device: torch.device) -> int | None:
    """Memory of the node that this process may still take; None for a GPU, which refuses more."""
    # A processor is given memory before it is there, and who then uses it is killed.
    if device.type == "cuda":
        return None
    import psutil

    available = int(psutil.virtual_memory().available)
    allowed = limits().memory_bytes
    return available if allowed is None else min(available, allowed - peak_rss_bytes())


def memory_peak_bytes(device: torch.device) -> int:
    """Most that this process has held: of the GPU's memory, or of the node's."""
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device)
    return peak_rss_bytes()


def memory_pss_bytes() -> int | None:
    """Memory of the node that this process holds, of each shared page its part; None if unknown."""
    import psutil

    return getattr(psutil.Process().memory_full_info(), "pss", None)


def refuse_unequal(group: Group, place: str, device: torch.device, asked: str) -> None:
    """Refuse ranks that cannot do equal shares of one image, which all of them find alike."""
    is_gpu = device.type == "cuda"
    own = {
        "place": place,
        "gpu": f"{node_name()} {torch.cuda.get_device_properties(device).uuid}" if is_gpu else None,
        "asked": asked,
    }
    first, *others = told_by_all = group.all_gather(own)
    for other in others:
        if other["asked"] != first["asked"]:
            raise BadInput(
                f"{first['place']} and {other['place']} have different parameters, seeds or "
                "weights: give all ranks the same --params and --seed, and one file of weights"
            )
    gpus = [told["gpu"] for told in told_by_all if told["gpu"]]
    if len(set(gpus)) < len(gpus):
        raise BadInput(
            "ranks have the same GPU, but tensors go only between different ones: give each rank "
            "its own GPU, or use fewer workers"
        )
