"""Compares the patches of two outputs: the checksums, never the times."""

from __future__ import annotations

from pathlib import Path

from pyscale_stages.contract import Agreement
from pyscale_stages.errors import BadInput
from pyscale_stages.loader.params import LOADING
from pyscale_stages.loader.table import RANK, read_batches
from pyscale_stages.task import Task
from pyscale_stages.windows import folders_to_check, same_bytes


def check(task: Task) -> Agreement:
    """Say which share of the ranks loaded the same patches in two outputs."""
    folders = folders_to_check(task)
    reference, other = (_checksums(folder) for folder in folders)
    same = sum(other.get(rank) == checksum for rank, checksum in reference.items())
    ranks = len({*reference, *other})
    return Agreement(
        same=same == ranks,
        identical=same_bytes(*folders, (LOADING,)),
        score=same / ranks,
        measure=(
            "share of ranks, of all in either output, whose first patches have the same places "
            "and pixels, whatever their order; times do not count"
        ),
        tolerance=1.0,
        details={"compared_ranks": float(ranks), "same_ranks": float(same)},
    )


def _checksums(folder: Path) -> dict[int, str]:
    pairs = read_batches(folder).select(RANK, "checksum").unique().rows()
    checksums = {rank: checksum for rank, checksum in pairs if checksum is not None}
    if not checksums or len(checksums) < len(pairs):
        raise BadInput(
            f"{folder} has no checksum of its patches: run it again with checksum_batches of 1 "
            "or more"
        )
    return checksums
