"""Joins the timings of several workers."""

from __future__ import annotations

from pyscale_stages.decompress.table import read_timings, write_timings
from pyscale_stages.errors import BadInput
from pyscale_stages.task import Task
from pyscale_stages.windows import read_window


def merge(task: Task) -> None:
    """Put the tables of all workers one below the other, with the number of each worker.

    Each worker did all tests, at the same time as the others or on another node: their rows
    stand beside each other, and none replaces another.

    Raises
    ------
    BadInput
        If no folder is given, or one is no output of this stage with the same parameters.
    """
    import polars as pl

    folders = [path for _, path in task.spec.inputs]
    if not folders:
        raise BadInput("merge needs the output of at least one worker: give --input FOLDER")
    asked = task.params.model_dump(mode="json"), task.spec.seed
    tables = []
    for worker, folder in enumerate(folders):
        window = read_window(folder)
        if window.stage != task.stage.name:
            raise BadInput(f"{folder} is the output of {window.stage}, not of {task.stage.name}")
        if (window.params, window.seed) != asked:
            raise BadInput(
                f"{folder} was measured with other parameters than the merge was given: give all "
                "workers and the merge the same --params and --seed"
            )
        table = read_timings(folder)
        tables.append(table.select(pl.lit(worker).alias("worker"), pl.all().exclude("worker")))
    write_timings(task, pl.concat(tables))
    task.write_window((0, len(tables)), len(tables))
    task.count(objects=sum(map(len, tables)))
