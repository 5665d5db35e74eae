"""Joins the tables of several workers, each of which measured by itself."""

from __future__ import annotations

from pyscale_stages.errors import BadInput
from pyscale_stages.storage.tables import RESIDENCY, TIMINGS, joined, read_table, write_tables
from pyscale_stages.task import Task
from pyscale_stages.windows import read_window


def merge(task: Task) -> None:
    """Put the tables of all workers one below the other, in the order of their frames.

    Raises
    ------
    BadInput
        If a folder is no output of this stage, or was measured with other parameters.
    """
    found = [(path, read_window(path)) for _, path in task.spec.inputs]
    if not found:
        raise BadInput("merge needs the output of at least one worker: give --input FOLDER")
    asked = task.params.model_dump(mode="json"), task.spec.seed
    for path, window in found:
        if window.stage != task.stage.name:
            raise BadInput(f"{path} is the output of {window.stage}, not of {task.stage.name}")
        if (window.params, window.seed) != asked:
            raise BadInput(
                f"{path} was measured with other parameters than the merge was given: "
                "give all workers and the merge the same --params and --seed"
            )
    # Workers that measured the same thing at once have the same frames; then the order given is
    # kept.
    found.sort(key=lambda item: item[1].frames)
    write_tables(
        task,
        {
            name: joined(read_table(path, name) for path, _ in found)
            for name in (TIMINGS, RESIDENCY)
        },
    )
    task.write_whole(found[0][1])
