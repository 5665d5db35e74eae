"""Joins the tables of the ranks of one trial."""

from __future__ import annotations

from pyscale_stages.errors import BadInput
from pyscale_stages.loader.table import read_batches, write_batches
from pyscale_stages.task import Task
from pyscale_stages.windows import read_window


def merge(task: Task) -> None:
    """Put the batches of all ranks one below the other, in the order of the ranks.

    Raises
    ------
    BadInput
        If a folder is no output of this stage with the same parameters, or the ranks are not
        each one of those that met, once.
    """
    import polars as pl

    found = sorted(
        ((path, read_window(path)) for _, path in task.spec.inputs),
        key=lambda item: item[1].frames,
    )
    if not found:
        raise BadInput("merge needs the output of at least one rank: give --input FOLDER")
    asked = task.params.model_dump(mode="json"), task.spec.seed
    whole = found[0][1]
    for path, window in found:
        if window.stage != task.stage.name:
            raise BadInput(f"{path} is the output of {window.stage}, not of {task.stage.name}")
        if (window.params, window.seed) != asked:
            raise BadInput(
                f"{path} was measured with other parameters than the merge was given: "
                "give all ranks and the merge the same --params and --seed"
            )
        if window.movie_frames != whole.movie_frames:
            raise BadInput(
                f"{path} is of {window.movie_frames} ranks and {found[0][0]} of "
                f"{whole.movie_frames}: give the ranks of one trial"
            )
    ranks = [window.frames[0] for _, window in found]
    if ranks != list(range(whole.movie_frames)):
        raise BadInput(
            f"the folders hold the ranks {', '.join(map(str, ranks))} of {whole.movie_frames}: "
            "give each rank of the trial once"
        )
    batches = pl.concat([read_batches(path) for path, _ in found])
    write_batches(task, batches)
    task.write_whole(whole)
    task.count(frames=int(batches["patches"].sum()))
