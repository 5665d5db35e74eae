"""Joins the tables of several workers, which tested machines at once or one after another."""

from __future__ import annotations

from pyscale_stages.errors import BadInput
from pyscale_stages.kernels.tables import read_timings, write_timings
from pyscale_stages.task import Task
from pyscale_stages.windows import read_window


def merge(task: Task) -> None:
    """Put the tables one below the other, and number the workers in the order of the folders.

    Raises
    ------
    BadInput
        If there is no folder, one is given twice, or they are outputs of other tests.
    """
    import polars as pl

    folders = [path for _, path in task.spec.inputs]
    if not folders:
        raise BadInput("merge needs at least one output: give --input FOLDER for each")
    asked = task.params.model_dump(mode="json"), task.spec.seed
    windows = [read_window(folder) for folder in folders]
    for number, (folder, window) in enumerate(zip(folders, windows, strict=True)):
        if window.stage != task.stage.name:
            raise BadInput(f"{folder} is the output of {window.stage}, not of {task.stage.name}")
        if (window.params, window.seed) != asked:
            raise BadInput(
                f"{folder} was tested with other parameters than the merge was given: "
                "give all outputs and the merge the same --params and --seed"
            )
        if folder.resolve() in {other.resolve() for other in folders[:number]}:
            raise BadInput(f"{folder} is given twice: give each worker's output once")
    tables, workers = [], 0
    for folder in folders:
        table = read_timings(folder)
        tables.append(table.with_columns(pl.col("worker") + workers))
        workers += int(table["worker"].n_unique())
    joined = pl.concat(tables)
    write_timings(task, joined)
    task.write_whole(windows[0])
    task.count(objects=len(joined))
