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


def read_window(folder: Path) -> Window:
    """Read what an output folder says it holds; one that no stage finished is a `BadInput`."""
    path = folder / WINDOW_FILE
    try:
        return Window.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise BadInput(
            f"{folder} is not the output folder of a finished stage: {WINDOW_FILE} is missing or "
            "broken there; run the stage on that window again"
        ) from error


def ordered_windows(task: Task) -> list[tuple[Path, Window]]:
    """Folders given to `merge` in the order of their frames."""
    # They must be windows of one stage, one movie and one set of parameters, without a frame
    # missing or given twice.
    found = of_one_measurement(task, "windows")
    first = found[0][1]
    expected_start = 0
    for path, window in found:
        if window.movie_frames != first.movie_frames:
            raise BadInput(
                f"{path} belongs to a movie of {plural(window.movie_frames, 'frame')}, but "
                f"{found[0][0]} to one of {first.movie_frames}"
            )
        if window.inputs != first.inputs:
            raise BadInput(
                f"{path} was computed from another movie than {found[0][0]}, though both have "
                f"{plural(first.movie_frames, 'frame')}: give the windows of one movie"
            )
        if window.frames[0] != expected_start:
            problem = "are missing" if window.frames[0] > expected_start else "were given twice"
            low, high = sorted((expected_start, window.frames[0]))
            raise BadInput(f"frames {low}:{high} {problem} before {path}: give each window once")
        expected_start = window.frames[1]
    if expected_start != first.movie_frames:
        raise BadInput(
            f"frames {expected_start}:{first.movie_frames} are missing: "
            "give the windows of the whole movie"
        )
    return found


def ordered_ranks(task: Task) -> list[tuple[Path, Window]]:
    """Folders given to `merge` in the order of the ranks that left them."""
    # They must be of one stage and one set of parameters, and each rank of those that met, once.
    found = of_one_measurement(task, "ranks")
    first, of_first = found[0]
    for path, window in found:
        if window.movie_frames != of_first.movie_frames:
            raise BadInput(
                f"{path} is of {plural(window.movie_frames, 'rank')}, but {first} of "
                f"{of_first.movie_frames}: give the ranks of one trial"
            )
    ranks = [window.frames[0] for _, window in found]
    if ranks != list(range(of_first.movie_frames)):
        raise BadInput(
            f"the folders hold the ranks {', '.join(map(str, ranks))} of "
            f"{of_first.movie_frames}: give each rank of the trial once"
        )
    return found


def of_one_measurement(task: Task, parts: str) -> list[tuple[Path, Window]]:
    """Return the folders given to `merge`, all of its stage, with its parameters, in order."""
    found = sorted(
        ((path, read_window(path)) for _, path in task.spec.inputs), key=lambda item: item[1].frames
    )
    if not found:
        raise BadInput(f"merge needs at least one output of the {parts}: give --input FOLDER")
    asked = task.params.model_dump(mode="json"), task.spec.seed
    for path, window in found:
        if window.stage != task.stage.name:
            raise BadInput(f"{path} is the output of {window.stage}, not of {task.stage.name}")
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
        window = read_window(folder)
        if window.stage != task.stage.name:
            raise BadInput(f"{folder} is the output of {window.stage}, not of {task.stage.name}")
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
