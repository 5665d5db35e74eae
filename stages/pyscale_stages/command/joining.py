"""Joins the outputs of windows to one, as the step says."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from pyscale_stages.command.calling import common, execute, fresh_output, left_at
from pyscale_stages.command.params import CommandParams
from pyscale_stages.command.tables import appended, write_table
from pyscale_stages.command.tiles import TILES_FOLDER, join_frames, join_tiles, kept_shape, tiles_of
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.task import Task
from pyscale_stages.windows import ordered_windows

Part = tuple[Path, tuple[int, int]]
"""Folder of a window, with its first frame and end (excluded)."""


def merge(task: Task[CommandParams]) -> None:
    """Join the outputs of all windows."""
    windows = ordered_windows(task)
    fresh_output(task)
    join(task, [(folder, window.frames) for folder, window in windows])
    task.write_whole(windows[0][1])


def join(task: Task[CommandParams], windows: Sequence[Part]) -> None:
    """Join the outputs of windows, which are all, in their order, to the output of the task."""
    params = task.params
    output = task.output / params.output_name
    if params.split == "tiles":
        outputs = [
            path for folder, _ in windows for path in sorted((folder / TILES_FOLDER).iterdir())
        ]
        parts = [(path, (number, number + 1)) for number, path in enumerate(outputs)]
    else:
        parts = [(folder / params.output_name, window) for folder, window in windows]
        outputs = [path for path, _ in parts]
    match params.joined:
        case "frames":
            join_frames([Movie.open(path) for path in outputs], output)
        case "tiles":
            shape = kept_shape(windows[0][0])
            join_tiles(outputs, tiles_of(shape, params.tile_px, params.margin_px), output)
        case "tables":
            write_table(appended(parts, params.offset), output)
        case "folder":
            _join_folders(outputs, output)
        case _:
            inputs = [str(path.absolute()) for path in outputs]
            execute(task, params.words_of(params.merge), {**common(task), "inputs": inputs})
    task.written += left_at(task, output)


def _join_folders(folders: Sequence[Path], output: Path) -> None:
    for folder in folders:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            place = output / file.relative_to(folder)
            if place.exists():
                raise BadInput(
                    f"two windows wrote a file {place.relative_to(output)}: name files by "
                    "{name} or {first}, so that each window has its own"
                )
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(file, place)
            except OSError:
                # Not every disk has hard links.
                shutil.copyfile(file, place)
