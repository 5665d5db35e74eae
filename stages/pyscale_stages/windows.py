"""Windows of a movie: the check that outputs of several tasks make one whole."""

from __future__ import annotations

from collections.abc import Iterable
from filecmp import cmp
from pathlib import Path

from pydantic import ValidationError

from pyscale_stages.contract import Window
from pyscale_stages.errors import BadInput
from pyscale_stages.task import WINDOW_FILE, Task
from pyscale_stages.wording import plural


def read_window(folder: Path, stage: str | None = None) -> Window:
    """Read what an output folder holds, of a certain stage where one is named."""
    path = folder / WINDOW_FILE
    try:
        window = Window.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise BadInput(
            f"{folder} is not the output folder of a finished stage: {WINDOW_FILE} is missing or "
            "broken there; run the stage on that window again"
        ) from error
    if stage not in {None, window.stage}:
        raise BadInput(f"{folder} is the output of {window.stage}, not of {stage}")
    return window


def ordered_windows(task: Task) -> list[tuple[Path, Window]]:
    """Folders given to `merge` in the order of their frames."""
    # They must be windows of one stage, one movie and one set of parameters, without a frame
    # missing or given twice.
    found = _all_parts(task, "windows", "movie", "frame")
    first = found[0][1]
    for path, window in found:
        if window.inputs != first.inputs:
            raise BadInput(
                f"{path} was computed from another movie than {found[0][0]}, though both have "
                f"{plural(first.movie_frames, 'frame')}: give the windows of one movie"
            )
    return found


def ordered_ranks(task: Task) -> list[tuple[Path, Window]]:
    """Folders given to `merge` in the order of the ranks that left them, each of those that met."""
    return _all_parts(task, "ranks", "trial", "rank")


def _all_parts(task: Task, parts: str, whole: str, unit: str) -> list[tuple[Path, Window]]:
    """Folders given to `merge`, in which each unit of one whole is there once."""
    found = of_one_measurement(task, parts)
    first, of_first = found[0]
    expected = 0
    for path, window in found:
        start, stop = window.frames
        if window.movie_frames != of_first.movie_frames:
            raise BadInput(
                f"{path} belongs to a {whole} of {plural(window.movie_frames, unit)}, but {first} "
                f"to one of {of_first.movie_frames}"
            )
        if start != expected:
            problem = "are missing" if start > expected else "were given twice"
            low, high = sorted((expected, start))
            raise BadInput(f"{unit}s {low}:{high} {problem} before {path}: give each once")
        expected = stop
    if expected != of_first.movie_frames:
        raise BadInput(
            f"{unit}s {expected}:{of_first.movie_frames} are missing: give the {parts} of the "
            f"whole {whole}"
        )
    return found


def of_one_measurement(task: Task, parts: str) -> list[tuple[Path, Window]]:
    """Return the folders given to `merge`, all of its stage, with its parameters, in order."""
    stage = task.stage.name
    each = ((path, read_window(path, stage)) for _, path in task.spec.inputs)
    found = sorted(each, key=lambda item: item[1].frames)
    if not found:
        raise BadInput(f"merge needs at least one output of the {parts}: give --input FOLDER")
    asked = task.params.model_dump(mode="json"), task.spec.seed
    for path, window in found:
        if (window.params, window.seed) != asked:
            raise BadInput(
                f"{path} was computed with other parameters than those of the merge: give all "
                f"{parts} and the merge the same --params and --seed"
            )
    return found


def same_bytes(reference: Path, other: Path, names: Iterable[str]) -> bool:
    """Whether the named files, or folders of files, of two outputs are equal byte for byte."""
    names = list(names)
    listed = [
        {file.relative_to(folder) for name in names for file in _files_at(folder / name)}
        for folder in (reference, other)
    ]
    return listed[0] == listed[1] and all(
        cmp(reference / name, other / name, shallow=False) for name in listed[0]
    )


def _files_at(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]


def folders_to_check(task: Task) -> tuple[Path, Path]:
    """The reference and the other output folder given to `check`."""
    if len(task.spec.inputs) != 2:
        raise BadInput("check compares two output folders: give --input REFERENCE --input OTHER")
    (_, reference), (_, other) = task.spec.inputs
    for folder in (reference, other):
        read_window(folder, task.stage.name)
    return reference, other


def common_window(reference: Path, other: Path) -> Window:
    """What two output folders hold, which must be the same frames."""
    first, second = read_window(reference), read_window(other)
    if (first.frames, first.movie_frames) != (second.frames, second.movie_frames):
        raise BadInput(
            f"{reference} holds the frames {first.frames[0]}:{first.frames[1]} of "
            f"{first.movie_frames}, but {other} the frames {second.frames[0]}:{second.frames[1]} "
            f"of {second.movie_frames}: compare outputs of the same frames"
        )
    return first
