"""The stage `command`: a step of the user's own, measured as every other is."""

from __future__ import annotations

import shutil
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
)
from pyscale_stages.command.environment import versions_of
from pyscale_stages.command.joining import join, merge
from pyscale_stages.command.meeting import met
from pyscale_stages.command.needs import NEEDS
from pyscale_stages.command.params import CommandParams, method, sharing
from pyscale_stages.command.share import share_of
from pyscale_stages.command.tiles import TILES_FOLDER, keep_shape
from pyscale_stages.contract import Resources, Slot, Stage
from pyscale_stages.task import Task


def run(task: Task[CommandParams]) -> None:
    """Call the command for the frames, files or tiles of this task."""
    if task.params.split == "ranks":
        _run_rank(task)
    else:
        _run_share(task)
    task.versions |= versions_of(task.params)


def _run_rank(task: Task[CommandParams]) -> None:
    """Call the command as one of the ranks that share the work; the first one answers for it."""
    spec, params = task.spec, task.params
    is_first = spec.rank == 0
    with share_of(task) as share, ExitStack() as stack:
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
    resources=Resources(cpus=1, memory_gib=4.0, devices=("cpu", "cuda", "mps")),
    sharing=sharing,
    is_compared=lambda params: params.check != "none",
    runs_outside=True,
    data=("movie", "labels", "files", "tiles"),
    needs=NEEDS,
)
