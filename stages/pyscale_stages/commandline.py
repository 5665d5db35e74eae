"""Arguments of the stages, and how one task is run, recorded and ended."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyscale_stages.contract import Stage, TaskSpec

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
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str
        What follows `python -m pyscale_stages`.
    main_monotonic_s : float
        The monotonic clock at the program's first line.
    """
    options = _parser().parse_args(arguments)
    if options.stage == "list":
        return _list_stages()
    if options.verb == "info":
        return _with_sentence(lambda: _info(options.stage))
    # Libraries read these when they are imported, so they are set before any is.
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(options.threads)
    return _with_sentence(lambda: _run_task(options, main_monotonic_s))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyscale_stages",
        description="One stage of a bioimage pipeline, on one window of a movie.",
        epilog="`pyscale_stages list` names the stages; `pyscale_stages STAGE info` describes one.",
    )
    parser.add_argument("stage", help="name of the stage, or 'list'")
    parser.add_argument(
        "verb",
        nargs="?",
        choices=("run", "merge", "check", "info"),
        default="info",
        help="run one window, merge windows, check two outputs for agreement, or describe",
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
        help="take the first K frames for the whole movie (default: all)",
    )
    parser.add_argument("--axes", help="axes of the input, where the file is silent or wrong")
    parser.add_argument("--params", type=Path, metavar="FILE.json", help="stage parameters")
    parser.add_argument("--result", type=Path, metavar="FILE.json", help="where the record goes")
    parser.add_argument("--truth", type=Path, metavar="FOLDER", help="truth of a synthetic movie")
    parser.add_argument("--seed", type=int, default=0, help="seed of everything random")
    parser.add_argument("--threads", type=int, default=1, help="threads that may be used")
    parser.add_argument("--device", choices=("cpu", "cuda", "mps"), default="cpu")
    parser.add_argument(
        "--rank", type=int, default=0, metavar="R", help="which of --ranks this process is, from 0"
    )
    parser.add_argument(
        "--ranks", type=int, default=1, metavar="N", help="processes that meet (default: 1)"
    )
    parser.add_argument(
        "--meeting", type=Path, metavar="FILE", help="where ranks meet: a path that all of them see"
    )
    return parser


def _with_sentence(command: Callable[[], int]) -> int:
    """Run a command; an error that a user can act on becomes one sentence."""
    from pyscale_stages.errors import as_stage_error

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
    """Print what a stage is: parameters as JSON schema, phases, resources, versions."""
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


def _run_task(options: argparse.Namespace, main_monotonic_s: float) -> int:
    from pyscale_stages.measure.spans import SpanRecorder
    from pyscale_stages.registry import load_stage
    from pyscale_stages.runner import run_task

    recorder = SpanRecorder(main_monotonic_s)
    stage = load_stage(options.stage)
    spec = _spec_from(options, stage)
    recorder.add("import", main_monotonic_s, time.monotonic())
    result = run_task(stage, spec, recorder, options.result)
    if result.error is not None:
        _talk(f"error: {result.error.message}")
        return result.error.exit_code
    if options.result is None:
        _answer(result.model_dump_json(indent=2, exclude={"spec", "stamp", "timings"}))
    return 0


def _spec_from(options: argparse.Namespace, stage: Stage) -> TaskSpec:
    from pydantic import ValidationError

    from pyscale_stages.contract import TaskSpec
    from pyscale_stages.errors import BadInput
    from pyscale_stages.wording import first_problem

    try:
        return TaskSpec(
            stage=stage.name,
            verb=options.verb,
            inputs=_named_inputs(options.input, stage, options.verb),
            output=options.output,
            frames=_frame_range(options.frames),
            movie_frames=options.movie_frames,
            axes=options.axes,
            params=_read_params(options.params),
            truth=options.truth,
            seed=options.seed,
            threads=options.threads,
            device=options.device,
            rank=options.rank,
            ranks=options.ranks,
            meeting=options.meeting,
        )
    except ValidationError as error:
        raise BadInput(f"the command line is wrong: {first_problem(error, TaskSpec)}") from error


def _named_inputs(given: Sequence[str], stage: Stage, verb: str) -> tuple[tuple[str, Path], ...]:
    """Give each `--input` its slot: named, or the next that is free."""
    from pyscale_stages.errors import BadInput
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
        if not equals or "/" in slot or Path(text).exists():
            if not free:
                raise BadInput(f"--input {text}: {stage.name} takes {len(stage.inputs)} inputs")
            slot, path = free[0], text
        elif slot not in free:
            raise BadInput(f"{stage.name} has no free input {slot!r}: {did_you_mean(slot, free)}")
        free.remove(slot)
        named[slot] = Path(path)
    for wanted in stage.inputs:
        if wanted.required and wanted.name not in named:
            raise BadInput(f"{stage.name} needs --input {wanted.name}=PATH ({wanted.help})")
    return tuple(named.items())


def _frame_range(text: str | None) -> tuple[int, int] | None:
    from pyscale_stages.errors import BadInput

    if text is None:
        return None
    first, colon, end = text.partition(":")
    if not (colon and first.isdigit() and end.isdigit()):
        raise BadInput(f"--frames {text} is not A:B with two whole numbers, as in --frames 0:10")
    return int(first), int(end)


def _read_params(path: Path | None) -> dict[str, object]:
    from pyscale_stages.errors import BadInput

    if path is None:
        return {}
    try:
        params = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"--params {path} cannot be read as JSON ({error})") from error
    if not isinstance(params, dict):
        raise BadInput(f"--params {path} must hold one JSON object of names and values")
    return params


def _answer(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - this is the command's answer


def _talk(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - talk goes to stderr
