"""Tags of the likely bottleneck of a test of the machine, and their meaning.

A tag is not a finding: the stage declares for each of its tests the part of a machine on which its
speed depends most, the place to look first if a test is slow here and fast elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

from pyscale_stages.timing import Bottleneck


class Explained(NamedTuple):
    """A tag and its explanation."""

    text: str
    why: str


BOTTLENECKS: dict[Bottleneck, Explained] = {
    "cpu": Explained(
        "CPU cores",
        "It depends most on the speed of a core and, with several threads, on their number.",
    ),
    "memory": Explained(
        "memory bandwidth",
        "It depends most on the bandwidth of main memory, which the cores share.",
    ),
    "gpu": Explained(
        "GPU",
        "It depends most on the GPU's 32-bit arithmetic and on its memory bandwidth.",
    ),
    "gpu_memory": Explained(
        "GPU memory",
        "It depends most on the GPU's memory bandwidth: it computes little per byte.",
    ),
    "pcie": Explained(
        "PCIe transfer",
        "It depends most on the link between main memory and the GPU: PCIe generation, lanes of "
        "the slot, and latency of a transfer.",
    ),
    "allocation": Explained(
        "memory allocation",
        "It depends most on the operating system, or the GPU's driver, to allocate and free "
        "memory.",
    ),
    "storage": Explained(
        "storage",
        "It depends most on the storage of the files, and on the network to it if it is not in "
        "this node.",
    ),
    "metadata": Explained(
        "file metadata",
        "It depends most on how fast the filesystem creates, finds and removes names (its metadata "
        "servers, if many nodes share it), hardly on its bandwidth.",
    ),
}
"""Every tag; `timing.Bottleneck` lists those that stages may declare."""
