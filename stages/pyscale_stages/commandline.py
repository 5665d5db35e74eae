"""Commands of the stages' command line: how one task runs, records and ends."""

from __future__ import annotations

import argparse
import atexit
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pyscale_stages.arguments import command_line, reading_from, spec_from
from pyscale_stages.errors import BadInput, as_stage_error

if TYPE_CHECKING:
    from pyscale_stages.contract import TaskResult

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
    result = _recorded(options, main_monotonic_s)
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
    from pyscale_stages.task import WINDOW_FILE

    output = result.spec.output
    files = [file.name for file in result.outputs if file.name != WINDOW_FILE]
    left = "done"
    if output is not None and files:
        left = f"wrote {', '.join(_counted(output / name) for name in files)} into {output}"
    numbers = [f"{one.name} {one.value:.6g} {one.unit}".rstrip() for one in result.measured]
    numbers += [f"{name} {value:.4g}" for name, value in result.quality.items()]
    return f"{left} in {result.wall_s:.1f} s{': ' * bool(numbers)}{', '.join(numbers)}"


def _counted(file: Path) -> str:
    """Name of a file, with the number of rows of a table."""
    if file.suffix != ".parquet":
        return file.name
    import polars as pl

    return f"{file.name} ({pl.scan_parquet(file).select(pl.len()).collect().item()} rows)"


def _recorded(options: argparse.Namespace, main_monotonic_s: float) -> TaskResult:
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
    return run_task(stage, spec, recorder, options.result)


def _answer(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - this is the command's answer


def _talk(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - talk goes to stderr
