"""Calls a command of a step where the step says, and looks at what it left."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pyscale_stages.command.environment import environment_of, in_container, seen_inside
from pyscale_stages.command.params import PARAMS, CommandParams, Value, filled
from pyscale_stages.command.process import Call, Heard, run_as_rank, run_command
from pyscale_stages.commandline import THREAD_VARIABLES
from pyscale_stages.errors import BadInput
from pyscale_stages.layout import WrongAxes
from pyscale_stages.movie import Movie
from pyscale_stages.ranks.meeting import Party
from pyscale_stages.task import Task
from pyscale_stages.telling import TOLD_VARIABLE
from pyscale_stages.wording import plural

SEEN_INSIDE = (*THREAD_VARIABLES, "CUDA_VISIBLE_DEVICES")
"""Variables that a command in an image sees."""
OF_NETWORKS = ("SLURM_", "PMI", "NCCL_", "GLOO_", "UCX_", "OMPI_", "FI_")
"""What variables begin with by which ranks in an image find each other on a cluster."""


def common(task: Task[CommandParams]) -> dict[str, str]:
    """What placeholders stand for in every call of a task."""
    params = task.params
    return {
        **{slot: str(path.absolute()) for slot, path in task.spec.inputs},
        **{f"{PARAMS}{name}": _as_text(value) for name, value in params.own.items()},
        "output": str(output_of(task).absolute()),
        "folder": str(params.folder),
        "threads": str(task.spec.threads),
        "workers": str(task.spec.workers or 1),
        "seed": str(task.spec.seed),
        "device": task.spec.device,
    }


def output_of(task: Task[CommandParams]) -> Path:
    """Path of the output of the step: a file, or a folder that is there."""
    return task.output / task.params.output_name


def fresh_output(task: Task[CommandParams]) -> Path:
    """Path of the output of the step, whose folder is there; refused where something is."""
    output = output_of(task)
    if output.is_file() or (output.is_dir() and any(output.iterdir())):
        raise BadInput(f"{output} is there already: remove it, or name another --output")
    (output if task.params.writes_folder else output.parent).mkdir(parents=True, exist_ok=True)
    return output


def execute(
    task: Task[CommandParams],
    command: Sequence[str],
    values: Mapping[str, Value],
    reads: Iterable[Path] = (),
    *,
    fine: Collection[int] = (0,),
    party: Party | None = None,
) -> Heard:
    """Run a filled command where the step says; exit codes in `fine` are no failure."""
    params = task.params
    own = party.variables if party else {}
    inputs = [*(path for _, path in task.spec.inputs), *reads]
    with TemporaryDirectory(prefix="pyscale-step-") as scratch:
        told = Path(scratch, "told", "spans.jsonl")
        told.parent.mkdir()
        words = filled(command, values, shell=params.shell)
        variables = {**environment_of(params), **own}
        if params.image is not None:
            output = task.spec.output or Path(scratch)
            if party:
                output = Path(party.answer["output"]).parent
            shown = (*SEEN_INSIDE, *(OF_NETWORKS if party else ()))
            seen = {name: value for name, value in os.environ.items() if name.startswith(shown)}
            words = in_container(
                words,
                params.image,
                params.folder,
                reads=inputs,
                writes=[told.parent],
                output=output.absolute(),
                scratch=Path(scratch),
                device=task.spec.device,
            )
            variables |= seen_inside({**seen, **own, TOLD_VARIABLE: str(told)})
        call = Call(
            words,
            params.folder,
            variables,
            told=told,
            reads=inputs,
            in_image=params.image is not None,
            at_most_s=params.at_most_s,
        )
        heard = run_as_rank(party, call) if party else run_command(call, fine)
    # All of a merge is the phase of that name, and nobody times a check.
    for phase, start, end in heard.phases if task.spec.verb == "run" else ():
        task.add_span(phase, start, end)
    if task.spec.verb != "check":
        task.measure(*heard.measured)
    for sentence in dict.fromkeys(heard.unread):
        task.warn(sentence, "unread-metric")
    for name in dict.fromkeys(heard.unknown):
        task.warn(f"the command names an unknown phase {name!r}", "unknown-phase")
    if task.spec.verb == "run" and party is None and heard.read_nothing:
        warn_of_nothing_read(task)
    if heard.left_running:
        task.warn(
            "the command left processes running when it ended, and they were ended",
            "left-running",
            doubts_result=True,
        )
    return heard


def warn_of_nothing_read(task: Task[CommandParams]) -> None:
    """Say that a command never opened its input."""
    task.warn("the command never opened its input: see `pyscale status --log`", "input-unread")


def left_at(
    task: Task[CommandParams], output: Path, *, frames: int | None = None, calls: int = 1
) -> Sequence[Path]:
    """Files that the command left at a path: one a call or more, or a movie of so many frames."""
    if output.is_dir():
        files = [path for path in sorted(output.rglob("*")) if path.is_file()]
    else:
        files = [output] if output.is_file() and output.stat().st_size else []
    if not files:
        elsewhere = task.params.folder / output.name
        hint = f"; there is {elsewhere}, which is another place" if elsewhere.exists() else ""
        raise BadInput(f"the command ended and left nothing at {output.absolute()}{hint}")
    if len(files) < calls:
        raise BadInput(
            f"{plural(calls, 'call')} of the command left {plural(len(files), 'file')}, so some "
            "overwrote others: name files by {name}, as in {output}/{name}.png"
        )
    if frames is not None:
        found = written_movie(output, frames).n_frames
        if found != frames:
            remedy = "write one for each of {input}"
            if not task.params.is_cut:
                remedy = "use {first} and {stop}, the window that it is to process"
            raise BadInput(
                f"the command wrote {found} frames to {output.name}, and was given {frames}: "
                f"{remedy}"
            )
    return files


def written_movie(path: Path, frames: int | None = None) -> Movie:
    """Open what the command wrote; `frames`: how many it should be, any number by default."""
    try:
        return Movie.open(path, frames=frames)
    except BadInput as error:
        if isinstance(error, WrongAxes) and error.colours and frames is None:
            return Movie.open(path, frames=error.shape[0])
        raise BadInput(
            f"what the command wrote is not a movie: {error}, or write with "
            "metadata={'axes': 'TYX'}, or TCYX with channels"
        ) from error


def _as_text(value: object) -> str:
    """A parameter as a command line has it; true and false as TOML has them."""
    return str(value).lower() if isinstance(value, bool) else str(value)
