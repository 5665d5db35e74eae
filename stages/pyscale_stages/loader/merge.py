"""Joins the tables of the ranks of one trial."""

from __future__ import annotations

from pyscale_stages.loader.table import read_batches, write_batches
from pyscale_stages.task import Task
from pyscale_stages.windows import ordered_ranks


def merge(task: Task) -> None:
    """Put the batches of all ranks one below the other, in the order of the ranks.

    Raises
    ------
    BadInput
        If a folder is no output of this stage with the same parameters, or the ranks are not
        each one of those that met, once.
    """
    import polars as pl

    found = ordered_ranks(task)
    batches = pl.concat([read_batches(path) for path, _ in found])
    write_batches(task, batches)
    task.write_whole(found[0][1])
    task.count(frames=int(batches["patches"].sum()))
