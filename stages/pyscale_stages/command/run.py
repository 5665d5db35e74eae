"""Runs the command of a step on one worker's share."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

from pyscale_stages.command.calling import (
    common,
    execute,
    fresh_output,
    left_at,
    output_of,
    params_of,
    warn_of_nothing_read,
)
from pyscale_stages.command.environment import versions_of
from pyscale_stages.command.joining import join
from pyscale_stages.command.meeting import met
from pyscale_stages.command.params import CommandParams
from pyscale_stages.command.share import share_of
from pyscale_stages.command.tiles import TILES_FOLDER, keep_shape
from pyscale_stages.task import Task


def run(task: Task) -> None:
    """Call the command for the frames, files or tiles of this task.

    Raises
    ------
    BadInput
        If what it reads cannot be used, or the program cannot be started.
    StageError
        If it fails, takes too long, or does not leave its output.
    """
    params = params_of(task)
    if params.split == "ranks":
        _run_rank(task, params)
    else:
        _run_share(task, params)
    task.versions |= versions_of(params)


def _run_rank(task: Task, params: CommandParams) -> None:
    """Call the command as one of the ranks that share the work; the first one answers for it."""
    spec = task.spec
    is_first = spec.rank == 0
    with share_of(task, params) as share, ExitStack() as stack:
        output = fresh_output(task) if is_first else output_of(task)
        with task.span("import"):
            party = stack.enter_context(met(spec, output.absolute()))
        own = {"rank": str(spec.rank), "ranks": str(spec.ranks), "output": str(party.output)}
        (call,) = share.calls
        values = {**common(task), **call, **own}
        execute(task, params.command, values, share.reads, party=party)
        if is_first:
            party.await_others()
            if party.nobody_read:
                warn_of_nothing_read(task)
            with task.span("write"):
                frames = share.whole if params.joined == "frames" else None
                task.written += left_at(task, output, frames=frames)
                task.write_window(share.window, share.whole)
    task.count(frames=share.whole if is_first else 0)


def _run_share(task: Task, params: CommandParams) -> None:
    with share_of(task, params) as share:
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
