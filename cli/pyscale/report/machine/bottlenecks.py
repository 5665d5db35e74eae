"""Tags of the likely bottleneck of a test of the machine, and what each means.

A tag is no finding: a stage states of each of its tests which part of a machine its speed depends
on most. It says where to look first when a test is slow here and fast elsewhere.
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
        "It depends most on how fast one core is and, where several threads work, on how many "
        "there are.",
    ),
    "memory": Explained(
        "memory bandwidth",
        "It depends most on how many bytes a second cores can move in main memory, which they "
        "share.",
    ),
    "gpu": Explained(
        "GPU",
        "It depends most on how fast the GPU computes with numbers of 32 bits, and on how fast it "
        "reads its own memory.",
    ),
    "gpu_memory": Explained(
        "GPU memory",
        "It depends most on how many bytes a second the GPU can move in its own memory: there is "
        "little to compute on each.",
    ),
    "pcie": Explained(
        "PCIe transfer",
        "It depends most on the way between main memory and the GPU: its PCIe generation, how many "
        "lanes the slot has, and how long one transfer takes to begin.",
    ),
    "allocation": Explained(
        "memory allocation",
        "It depends most on how fast the operating system, or the driver of the GPU, hands out "
        "memory and takes it back.",
    ),
    "storage": Explained(
        "storage",
        "It depends most on the storage that files are read from or written to, and on the network "
        "before it where it is not in this node.",
    ),
    "metadata": Explained(
        "file metadata",
        "It depends most on how fast the filesystem makes, finds and removes names: on its "
        "metadata servers where many nodes share it, hardly on its bandwidth.",
    ),
}
"""Every tag; `timing.Bottleneck` lists what stages may say."""
