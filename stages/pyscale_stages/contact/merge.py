"""Joins the tables of windows into those of the movie."""

from __future__ import annotations

from pyscale_stages.contact.tables import joined, read_tables, write_tables
from pyscale_stages.errors import BadInput
from pyscale_stages.task import Task
from pyscale_stages.windows import ordered_windows


def merge(task: Task) -> None:
    """Put the tables of all windows one below the other, in the order of their frames.

    Frames are absolute and labels true in every window, so that nothing has to be renumbered:
    the files are those that one window would have given.

    Raises
    ------
    BadInput
        If windows are missing, given twice or damaged, or none holds a cell.
    """
    windows = ordered_windows(task)
    tables = joined(read_tables(folder) for folder, _ in windows)
    if tables["cells"].is_empty():
        raise BadInput(
            f"none of the {len(windows)} windows, from {windows[0][0]} on, holds a cell: "
            "look at the labels that they were measured on"
        )
    write_tables(task, tables)
    task.write_whole(windows[0][1])
    task.count(frames=windows[0][1].movie_frames, objects=len(tables["contacts"]))
