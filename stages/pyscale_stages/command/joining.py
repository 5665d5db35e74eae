"""Joins the outputs of windows to one, as the step says."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from pyscale_stages.command.cutting import join
from pyscale_stages.command.run import common, execute, fresh_output, params_of, take
from pyscale_stages.command.tables import appended, write_table
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.task import Task
from pyscale_stages.windows import ordered_windows


def merge(task: Task) -> None:
    """Join the outputs of all windows.

    Raises
    ------
    BadInput
        If they are not those of one whole, or cannot be joined so.
    """
    params = params_of(task)
    windows = ordered_windows(task)
    parts = [(folder / params.output_name, window) for folder, window in windows]
    output = fresh_output(task)
    match params.joined:
        case "frames":
            join(_of_one_shape([Movie.open(path) for path, _ in parts]), output)
        case "tables":
            write_table(appended(parts, params.offset), output)
        case "folder":
            _join_folders([path for path, _ in parts], output)
        case _:
            inputs = [str(path.absolute()) for path, _ in parts]
            execute(task, params.words_of(params.merge), {**common(task), "inputs": inputs})
    take(task)
    task.write_whole(windows[0][1])


def _of_one_shape(movies: Sequence[Movie]) -> Sequence[Movie]:
    first = movies[0]
    kind = (first.n_channels, first.shape_yx, first.dtype)
    for movie in movies:
        if (movie.n_channels, movie.shape_yx, movie.dtype) != kind:
            raise BadInput(
                f"{movie.path} and {first.path} cannot be one movie: their channels, size or type "
                "of pixels differ"
            )
    return movies


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
