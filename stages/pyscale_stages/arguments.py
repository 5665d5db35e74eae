"""Arguments of the stages, and the task that they describe."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale_stages.errors import BadInput

if TYPE_CHECKING:
    from pyscale_stages.contract import Stage, TaskSpec
    from pyscale_stages.reading import Reading

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
        "--tolerance",
        type=float,
        metavar="SCORE",
        help="smallest score that is the same",
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    parser.add_argument("--threads", type=int, default=1, help="number of threads")
    parser.add_argument("--device", choices=("cpu", "cuda", "mps"), default="cpu")
    parser.add_argument(
        "--workers", type=int, metavar="N", help="workers of its trial, for a command to name"
    )
    parser.add_argument("--as", dest="format", metavar="FORMAT", help="format of the export")
    parser.add_argument("--labels", type=Path, help="label movie of the exported tracks")
    _add_reading(parser)
    _add_rank(parser)
    return parser


def _add_reading(parser: argparse.ArgumentParser) -> None:
    of_input = parser.add_argument_group("what of the first input is the movie")
    for name, text in READING.items():
        of_input.add_argument(STAGE_FLAGS.get(name, f"--{name}"), dest=f"of_{name}", help=text)


def _add_rank(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rank",
        type=int,
        default=0,
        metavar="R",
        help="number of this process among --ranks, from 0",
    )
    parser.add_argument(
        "--ranks",
        type=int,
        default=1,
        metavar="N",
        help="processes that work together (default: 1)",
    )
    parser.add_argument(
        "--meeting",
        type=Path,
        metavar="FILE",
        help="file by which ranks find each other: a path that all of them see",
    )


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
