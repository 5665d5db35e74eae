"""The stages' command line: what it may say, and how one task runs, records and ends."""

from __future__ import annotations

import argparse
import atexit
import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pyscale_stages.errors import BadInput, as_stage_error

if TYPE_CHECKING:
    from pyscale_stages.contract import Stage, TaskResult, TaskSpec
    from pyscale_stages.reading import Reading

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS",
    # PoCL 3 reads the first name, later versions the second.
    "POCL_MAX_PTHREAD_COUNT",
    "POCL_CPU_MAX_CU_COUNT",
)
_AS_GIVEN = (
    *("verb", "output", "movie_frames", "truth", "tolerance", "seed", "threads", "device"),
    *("workers", "rank", "ranks", "meeting"),
)
"""Arguments that the task has under the same names."""
READING = {
    "axes": "axes, where the file gives none or wrong ones",
    "series": "image of a file with several, from 0",
    "level": "resolution level of an OME-Zarr",
    "frames": "frames A to B-1 of the file are the movie",
    "channel": "the only channel to read, by number or name",
    "plane": "the only plane of a Z-stack, from 0",
    "project": "max or mean of the planes of a Z-stack",
    "pattern": "names of the files of a folder that are frames",
}
"""Fields of a `Reading`, which argparse names without importing it."""
STAGE_FLAGS = {"frames": "--part"}
"""Flags that are not called as their field: --frames is the window of a task."""


def main(arguments: Sequence[str], main_monotonic_s: float) -> int:
    """Run the command that follows `python -m pyscale_stages` and return its exit code."""
    options = command_line().parse_args(arguments)
    if options.stage == "list":
        return _with_sentence(_list_stages)
    if options.verb == "info":
        return _with_sentence(lambda: _info(options.stage))
    if options.verb == "export":
        return _with_sentence(lambda: _export(options))
    # Libraries read these when they are imported, so they are set before any is.
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(options.threads)
    return _with_sentence(lambda: _run_task(options, main_monotonic_s))


def end(code: int) -> NoReturn:
    """End this process, whose record is written, without taking apart what it imported."""
    # What libraries do at the end is done; to unload them takes some of a second, and for nothing.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _with_sentence(command: Callable[[], int]) -> int:
    """Run a command; an error that a user can act on becomes one sentence."""
    try:
        return command()
    except BrokenPipeError:
        # The reader of the answer, like `head`, has seen enough; nothing more can be flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as raised:
        error = as_stage_error(raised)
        if error is None:
            raise
        _talk(f"error: {error}")
        return error.exit_code


def _list_stages() -> int:
    from pyscale_stages.registry import load_stage, present_stages

    for name in present_stages():
        _answer(f"{name:<18}{load_stage(name).summary}")
    return 0


def _info(stage_name: str) -> int:
    from pyscale_stages.contract import PHASES
    from pyscale_stages.registry import load_stage
    from pyscale_stages.runner import installed_versions

    stage = load_stage(stage_name)
    description = {
        "stage": stage.name,
        "summary": stage.summary,
        "inputs": {
            slot.name: {"help": slot.help, "required": slot.required} for slot in stage.inputs
        },
        "output": stage.output,
        "params": stage.params.model_json_schema(),
        "phases": PHASES,
        "resources": {
            "cpus": stage.resources.cpus,
            "memory_gib": stage.resources.memory_gib,
            "devices": stage.resources.devices,
        },
        "determinism": stage.determinism,
        "versions": installed_versions(stage.packages),
    }
    _answer(json.dumps(description, indent=2))
    return 0


def _export(options: argparse.Namespace) -> int:
    from pyscale_stages.movie import AS_IT_IS, Movie
    from pyscale_stages.registry import load_stage
    from pyscale_stages.wording import did_you_mean

    stage = load_stage(options.stage)
    if not stage.exports:
        raise BadInput(f"{stage.name} has no exports: its output is {stage.output}")
    if options.format not in stage.exports:
        known = did_you_mean(options.format or "", stage.exports)
        raise BadInput(f"export needs --as with a format of {stage.name}: {known}")
    if len(options.input) != 1 or options.output is None:
        raise BadInput("export takes one output folder: use --input FOLDER --output FOLDER")
    reading = reading_from(options) or AS_IT_IS
    labels = Movie.open(options.labels, reading=reading) if options.labels else None
    options.output.mkdir(parents=True, exist_ok=True)
    stage.exports[options.format](Path(options.input[0]), labels, options.output)
    return 0


def _run_task(options: argparse.Namespace, main_monotonic_s: float) -> int:
    """Run a task and record it."""
    from pyscale_stages.measure.spans import SpanRecorder
    from pyscale_stages.registry import load_stage
    from pyscale_stages.runner import run_task

    recorder = SpanRecorder(main_monotonic_s)
    stage = load_stage(options.stage)
    spec = spec_from(options, stage)
    recorder.add("import", main_monotonic_s, time.monotonic())
    if options.result is not None:
        # An earlier one would speak for an output that is no more, were this task ended.
        with suppress(OSError):
            options.result.parent.mkdir(parents=True, exist_ok=True)
            options.result.unlink()
    result = run_task(stage, spec, recorder, options.result)
    if result.error is not None:
        _talk(f"error: {result.error.message}")
        return result.error.exit_code
    if options.json:
        from pyscale_stages.timing import Timing

        # Hundreds of repeats, which are in the output's table too.
        without: dict[str, Any] = {"spec": True, "stamp": True, "samples": {Timing.kept_as}}
        _answer(result.model_dump_json(indent=2, exclude=without))
    elif options.result is None:
        for warning in result.warnings:
            _talk(f"warning: {warning}")
        _answer(_found_by(result))
    return 0


def _found_by(result: TaskResult) -> str:
    """Say in a line what a task left, or how far two outputs agree, and what it found."""
    agreement = result.agreement
    if agreement is not None:
        verdict = "the same" if agreement.same else "not the same"
        return (
            f"{verdict}: {agreement.measure} is {agreement.score:.6g}, and "
            f"{agreement.tolerance:.6g} is enough"
        )
    left = f"wrote {', '.join(file.name for file in result.outputs) or 'nothing'}"
    numbers = [f"{one.name} {one.value:.6g} {one.unit}".rstrip() for one in result.measured]
    found = f"{result.counters.frames} frames, {result.counters.objects} objects"
    return f"{left} in {result.wall_s:.1f} s: {', '.join([found, *numbers])}"


def _answer(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - this is the command's answer


def _talk(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - talk goes to stderr


def command_line() -> argparse.ArgumentParser:
    """Return what reads the arguments of the stages."""
    parser = argparse.ArgumentParser(
        prog="pyscale_stages",
        description="One stage of a bioimage pipeline, on one window of a movie.",
        epilog="`pyscale_stages list` names the stages; `pyscale_stages STAGE info` describes one.",
    )
    parser.add_argument("stage", help="name of the stage, or 'list'")
    parser.add_argument(
        "verb",
        nargs="?",
        choices=("run", "merge", "check", "export", "info"),
        default="info",
        help="run one window, merge windows, check two outputs for agreement, export an output "
        "for other tools, or describe",
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[SLOT=]PATH",
        help="input file or folder; repeat for further inputs",
    )
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="folder for the output")
    parser.add_argument("--frames", metavar="A:B", help="frames A to B-1 (default: all)")
    parser.add_argument(
        "--movie-frames",
        type=int,
        metavar="K",
        help="use only the first K frames of the movie (default: all)",
    )
    parser.add_argument("--params", type=Path, metavar="FILE.json", help="stage parameters")
    parser.add_argument("--result", type=Path, metavar="FILE.json", help="file of the record")
    parser.add_argument(
        "--json", action="store_true", help="print the record in place of what was found"
    )
    parser.add_argument(
        "--truth", type=Path, metavar="PATH", help="true labels or tracks of the movie"
    )
    parser.add_argument(
        "--tolerance", type=float, metavar="SCORE", help="smallest score that is the same"
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    parser.add_argument("--threads", type=int, default=1, help="number of threads")
    parser.add_argument("--device", choices=("cpu", "cuda", "mps"), default="cpu")
    parser.add_argument(
        "--workers", type=int, metavar="N", help="workers of its trial, for a command to name"
    )
    parser.add_argument("--as", dest="format", metavar="FORMAT", help="format of the export")
    parser.add_argument("--labels", type=Path, help="label movie of the exported tracks")
    of_input = parser.add_argument_group("what of the first input is the movie")
    for name, text in READING.items():
        of_input.add_argument(STAGE_FLAGS.get(name, f"--{name}"), dest=f"of_{name}", help=text)
    parser.add_argument(
        "--rank", type=int, default=0, help="number of this process among --ranks, from 0"
    )
    parser.add_argument(
        "--ranks", type=int, default=1, help="processes that work together (default: 1)"
    )
    parser.add_argument(
        "--meeting", type=Path, metavar="FILE", help="file by which ranks find each other"
    )
    return parser


def spec_from(options: argparse.Namespace, stage: Stage) -> TaskSpec:
    """Return the task that the arguments describe."""
    from pydantic import ValidationError

    from pyscale_stages.contract import TaskSpec
    from pyscale_stages.wording import first_problem

    try:
        return TaskSpec(
            stage=stage.name,
            inputs=_named_inputs(options.input, stage, options.verb),
            frames=_frame_range(options.frames),
            params=read_params(options.params),
            reading=reading_from(options),
            **{name: getattr(options, name) for name in _AS_GIVEN},
        )
    except ValidationError as error:
        raise BadInput(f"the command line is wrong: {first_problem(error, TaskSpec)}") from error


def reading_from(options: argparse.Namespace) -> Reading | None:
    """What of the first input is the movie, where somebody says it."""
    from pydantic import ValidationError

    from pyscale_stages.reading import Reading
    from pyscale_stages.wording import first_problem

    given = {name: getattr(options, f"of_{name}") for name in READING}
    given = {name: value for name, value in given.items() if value is not None}
    try:
        return Reading.model_validate(given) if given else None
    except ValidationError as error:
        raise BadInput(f"the command line is wrong: {first_problem(error, Reading)}") from error


def _named_inputs(given: Sequence[str], stage: Stage, verb: str) -> tuple[tuple[str, Path], ...]:
    """Give each `--input` its slot: named, or the next that is free."""
    from pyscale_stages.wording import did_you_mean

    if verb != "run":
        # merge and check take folders in order; a slot before the path says nothing there.
        folders = [re.sub(r"^(w\d+|reference|other)=", "", text) for text in given]
        return tuple((f"w{i}", Path(folder)) for i, folder in enumerate(folders))
    free = [slot.name for slot in stage.inputs]
    named = {}
    for text in given:
        slot, equals, path = text.partition("=")
        # A path may hold "=" too: where the whole is a path that exists, it is one.
        if not equals or "/" in slot or os.path.exists(text):  # noqa: PTH110 - also of names that are too long
            if not free:
                raise BadInput(
                    f"--input {text}: {stage.name} takes only {len(stage.inputs)} inputs"
                )
            slot, path = free[0], text
        elif slot not in free:
            raise BadInput(f"{stage.name} has no unused input {slot!r}: {did_you_mean(slot, free)}")
        free.remove(slot)
        named[slot] = Path(path)
    for wanted in stage.inputs:
        if wanted.required and wanted.name not in named:
            raise BadInput(f"{stage.name} needs --input {wanted.name}=PATH ({wanted.help})")
    return tuple(named.items())


def _frame_range(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, colon, end = text.partition(":")
    if not (colon and first.isdigit() and end.isdigit()):
        raise BadInput(
            f"invalid --frames {text}: give A:B with two whole numbers, as in --frames 0:10"
        )
    return int(first), int(end)


def read_params(path: Path | None) -> dict[str, Any]:
    """Stage parameters from their file, which must hold one JSON object."""
    if path is None:
        return {}
    try:
        params = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"--params {path} cannot be read as JSON ({error})") from error
    if not isinstance(params, dict):
        raise BadInput(f"--params {path} must hold one JSON object of names and values")
    return params
