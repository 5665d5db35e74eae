"""Joins the outputs of the ranks of one trial: the image is the first one's."""

from __future__ import annotations

from shutil import copyfile

from pyscale_stages.reconstruct.output import IMAGE, read_image
from pyscale_stages.task import Task
from pyscale_stages.windows import ordered_ranks


def merge(task: Task) -> None:
    """Copy the image of the first rank, where all ranks of one trial are given.

    Raises
    ------
    BadInput
        If a folder is no output of this stage with the same parameters, the ranks are not each
        one of those that met, once, or the image is missing or damaged.
    """
    first, window = ordered_ranks(task)[0]
    # One that was cut short must not go on as if it were whole.
    read_image(first)
    with task.writing(IMAGE) as path:
        copyfile(first / IMAGE, path)
    task.write_whole(window)
    task.count(frames=1)
