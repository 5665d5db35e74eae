"""What one worker gets: a window of frames, files of a folder, or tiles of an image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pyscale_stages.command.joining import TILES_FOLDER, cut_frames, cut_tile, tiles_of
from pyscale_stages.command.params import CommandParams
from pyscale_stages.errors import BadInput
from pyscale_stages.framefiles import files_in
from pyscale_stages.movie import AS_IT_IS, Movie
from pyscale_stages.task import Task


@dataclass(frozen=True)
class Share:
    """A worker's part of the whole, and the values of each call of the command."""

    window: tuple[int, int]
    """First frame, file or tile and end (excluded)."""
    whole: int
    """Frames, files or tiles of all workers together."""
    calls: tuple[Mapping[str, str], ...]
    """What placeholders stand for, a call each."""
    reads: tuple[Path, ...] = ()
    """What the calls read, beside the inputs of the task."""
    shape_yx: tuple[int, int] | None = None
    """Size in pixels of the image whose tiles are shared; None where they are none."""


@contextmanager
def share_of(task: Task[CommandParams]) -> Iterator[Share]:
    """Give a worker its part, with files that are removed when the work is done."""
    path = task.input("input")
    if path is None:
        raise BadInput("a step needs what it reads: give --input input=PATH")
    with TemporaryDirectory(prefix="pyscale-step-") as scratch:
        split = {"files": _of_files, "tiles": _of_tiles}.get(task.params.split, _of_frames)
        # Cutting is measured: whoever gives each worker a file of its own has to cut it, too.
        with task.span("read"):
            share = split(task, path.absolute(), Path(scratch))
        yield share


def files_of(folder: Path) -> tuple[Path, ...]:
    """Files of a folder in the natural order of their names, but for hidden ones."""
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a folder: a step that shares files needs a folder of them")
    found = files_in(folder)
    if not found:
        raise BadInput(f"the folder {folder} holds no file: name one that does")
    return found


def _part(task: Task[CommandParams], of_what: str, count: int, path: Path) -> tuple[int, int]:
    start, stop = task.spec.frames or (0, count)
    if not 0 <= start < stop <= count:
        raise BadInput(f"{of_what} {start}:{stop} are not among the {count} of {path}")
    return start, stop


def _of_files(task: Task[CommandParams], folder: Path, scratch: Path) -> Share:
    files = files_of(folder)
    start, stop = _part(task, "files", len(files), folder)
    task.know_files("input", files)
    own = files[start:stop]
    values = {"input": str(folder)}
    if task.params.a_call_per_file:
        calls = tuple(values | {"file": str(file), "name": file.stem} for file in own)
        return Share((start, stop), len(files), calls)
    listed = scratch / "files.txt"
    listed.write_text("".join(f"{file}\n" for file in own), encoding="utf-8")
    return Share((start, stop), len(files), (values | {"files": str(listed)},), (listed,))


def _of_tiles(task: Task[CommandParams], path: Path, scratch: Path) -> Share:
    params = task.params
    movie = Movie.open(path, reading=task.spec.reading or AS_IT_IS)
    task.know_files("input", movie.files, chosen=movie.reading.given)
    tiles = tiles_of(movie.shape_yx, params.tile_px, params.margin_px)
    start, stop = _part(task, "tiles", len(tiles), path)
    folder = task.output / TILES_FOLDER
    calls, reads = [], []
    for tile in tiles[start:stop]:
        source = path
        if params.window == "file":
            source = cut_tile(movie, tile, scratch / tile.name(".ome.tif"))
            reads.append(source)
        output = folder.absolute() / tile.name(Path(params.output_name).suffix)
        (output if params.writes_folder else folder).mkdir(parents=True, exist_ok=True)
        calls.append({**tile.values, "input": str(source), "output": str(output)})
    return Share((start, stop), len(tiles), tuple(calls), tuple(reads), movie.shape_yx)


def _of_frames(task: Task[CommandParams], path: Path, scratch: Path) -> Share:
    whole = task.spec.movie_frames
    reads: tuple[Path, ...] = ()
    if task.params.window == "file" or whole is None or task.spec.frames is None:
        movie = task.movie("input")
        whole = movie.n_frames
        start, stop = task.window(movie)
        if task.params.window == "file":
            path = cut_frames(movie, (start, stop), scratch / "window.ome.tif")
            reads = (path,)
    else:
        # It may be a table or a folder that another step wrote of these frames.
        start, stop = task.spec.frames
        if not path.exists():
            raise BadInput(f"{path} is not there: name what the step reads")
        files = files_of(path) if path.is_dir() else (path,)
        task.know_files("input", files)
    numbers = {"first": start, "stop": stop, "frames": stop - start}
    values = {"input": str(path), **{name: str(number) for name, number in numbers.items()}}
    return Share((start, stop), whole, (values,), reads)
