"""Ids of jobs: 17, and 17_3 for an element of the array 17."""

from __future__ import annotations


def array_of(job_id: str) -> str:
    """The array that a job is an element of; of other jobs their own id."""
    return job_id.partition("_")[0]


def elements(job_ids: str) -> list[str]:
    """Ids of elements that Slurm tells together, like 17_[3,5-9,20-60:10%8]; of others their own.

    squeue can tell them one by one too, but as of Slurm 22.05 leaves the last of 20-60:10 out.

    Raises
    ------
    ValueError
        If it is no such expression, as where it was cut short.
    """
    array, several, indices = job_ids.partition("_[")
    if not several:
        return [job_ids]
    found: list[str] = []
    for part in indices.removesuffix("]").partition("%")[0].split(","):
        bounds, _, step = part.partition(":")
        first, _, last = bounds.partition("-")
        these = range(int(first), int(last or first) + 1, int(step or 1))
        found += [f"{array}_{element}" for element in these]
    return found
