"""The stage `command`: a step of the user's own, measured as every other is."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pyscale_stages.command.agreement import check
from pyscale_stages.command.calling import (
    common,
    execute,
    fresh_output,
    left_at,
    output_of,
    warn_of_nothing_read,
    written_movie,
)
from pyscale_stages.command.environment import NEEDS, versions_of
from pyscale_stages.command.joining import (
    TILES_FOLDER,
    appended,
    counted_anew,
    join_frames,
    join_tiles,
    keep_shape,
    kept_shape,
    read_table,
    share_of,
    tiles_of,
    write_table,
)
from pyscale_stages.command.params import CommandParams, method, sharing
from pyscale_stages.command.process import await_others
from pyscale_stages.contract import Resources, Slot, Stage
from pyscale_stages.errors import BadInput
from pyscale_stages.moviewriter import joined_files
from pyscale_stages.ranks.meeting import met
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
            movies = [written_movie(path, stop - first) for path, (first, stop) in parts]
            join_frames(movies, output)
        case "tiles":
            shape = kept_shape(windows[0][0])
            movies = [written_movie(path) for path in outputs]
            join_tiles(movies, tiles_of(shape, params.tile_px, params.margin_px), output)
        case "tables":
            tables = [(path, first, read_table(path)) for path, (first, _) in parts]
            write_table(appended(tables, params.offset), output)
            # Files and tiles are counted too, and a frame of theirs is none of a window.
            of_frames = params.split == "frames" and params.offset is None
            if of_frames and (column := counted_anew(tables)) is not None:
                task.warn(
                    f"the column {column} begins anew in the table of each window: `--set "
                    f"step.offset={column}` adds the window's first frame",
                    "frames-anew",
                )
        case "folder":
            for place, _ in joined_files(output, outputs):
                raise BadInput(
                    f"two windows wrote a file {place.relative_to(output)}: name files by "
                    "{name} or {first}, so that each window has its own"
                )
        case _:
            inputs = [str(path.absolute()) for path in outputs]
            execute(task, params.words_of(params.merge), {**common(task), "inputs": inputs})
    task.written += left_at(task, output)


def run(task: Task[CommandParams]) -> None:
    """Call the command for the frames, files or tiles of this task."""
    if task.params.split == "ranks":
        _run_rank(task)
    else:
        _run_share(task)
    with task.unmeasured():
        task.versions |= versions_of(task.params)


def _run_rank(task: Task[CommandParams]) -> None:
    """Call the command as one of the ranks that share the work; the first one answers for it."""
    spec, params = task.spec, task.params
    is_first = spec.rank == 0
    with share_of(task) as share, ExitStack() as stack:
        output = fresh_output(task) if is_first else output_of(task)
        with task.span("import"):
            meets = met(spec.meeting, spec.rank, spec.ranks, output=str(output.absolute()))
            party = stack.enter_context(meets)
        # All may write to that of the first rank.
        output_of_all = party.answer["output"]
        own = {"rank": str(spec.rank), "ranks": str(spec.ranks), "output": output_of_all}
        (call,) = share.calls
        values = {**common(task), **call, **own}
        execute(task, params.command, values, share.reads, party=party)
        if is_first:
            if await_others(party):
                warn_of_nothing_read(task)
            with task.span("write"):
                frames = share.whole if params.joined == "frames" else None
                task.written += left_at(task, output, frames=frames)
                task.write_window(share.window, share.whole)
    task.count(frames=share.whole if is_first else 0)


def _run_share(task: Task[CommandParams]) -> None:
    params = task.params
    with share_of(task) as share:
        output = fresh_output(task)
        for call in share.calls:
            execute(task, params.command, {**common(task), **call}, share.reads)
        n = share.window[1] - share.window[0]
        with task.span("write"):
            if share.shape_yx is None:
                frames = n if params.joined == "frames" else None
                task.written += left_at(task, output, frames=frames, calls=len(share.calls))
            else:
                keep_shape(task.output, share.shape_yx)
                folder = task.output / TILES_FOLDER
                tiles = [left_at(task, folder / Path(call["output"]).name) for call in share.calls]
                if n == share.whole:
                    join(task, [(task.output, share.window)])
                    shutil.rmtree(folder)
                else:
                    task.written += (file for files in tiles for file in files)
            task.write_window(share.window, share.whole)
    task.count(frames=n)


STAGE = Stage(
    name="command",
    summary="A command, script or container of one's own over frames or files",
    params=CommandParams,
    inputs=(
        Slot("input", "what the workers share: a movie, a folder of files, or an earlier output"),
        Slot("input2", "another input, which every worker reads whole", required=False),
        Slot("input3", "a third input, which every worker reads whole", required=False),
    ),
    output="output",
    outputs=lambda params: params.output_name,
    packages=(),
    determinism="What the user's own program says",
    run=run,
    merge=merge,
    check=check,
    method=method,
    resources=Resources(cpus=1, memory_gib=4.0, devices=("cpu", "cuda")),
    sharing=sharing,
    is_compared=lambda params: params.check != "none",
    runs_outside=True,
    data=("movie", "labels", "files", "tiles"),
    needs=NEEDS,
)
