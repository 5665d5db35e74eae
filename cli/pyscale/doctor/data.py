"""Checks of the movie or slides: presence, form and file names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pyscale.data.registry import SYNTH_MOVIE, Registry, load_registry, made_kind
from pyscale.data.verify import dataset_path, presence
from pyscale.doctor.findings import Finding, beside_the_point, ok, problem, refused, warning
from pyscale.doctor.subject import Subject
from pyscale.resources import shipped
from pyscale_stages.errors import BadInput
from pyscale_stages.measure.mounts import filesystem_of
from pyscale_stages.movie import Movie
from pyscale_stages.slides.reading import slide_files
from pyscale_stages.wording import plural

_HARMLESS = re.compile(r"[\w./+@=-]*", re.ASCII)
"""What no shell, no option of a container program and no pattern of file names takes apart."""
_MOST_NAMES = 10_000


def data(subject: Subject) -> Iterator[Finding]:
    """Look for the movie, by names and sizes, and open it."""
    if not subject.reads_movie:
        yield beside_the_point("data.movie", f"the suite {subject.suite} does not read a movie")
        return
    for name, found in subject.own_data.items():
        own: dict[str, Any] = {"data": name, "movie": found, "axes": None, "own_data": {}}
        yield from data(subject.model_copy(update=own))
    registry = load_registry(shipped("config"))
    path = found_movie(subject)
    if path is None:
        yield _absent(subject, registry)
        return
    if subject.reads_slides:
        yield counted(path)
        yield names(path)
        return
    entry = registry.datasets.get(subject.data)
    axes = subject.axes or (entry.axes if entry is not None else None)
    yield opened(path, axes)
    yield names(path)


def found_movie(subject: Subject) -> Path | None:
    """Path of the movie; None where it is not here."""
    registry = load_registry(shipped("config"))
    path = subject.movie or dataset_path(subject.data, registry, subject.data_folder)
    if path is not None and made_kind(path) == "movie":
        return path / SYNTH_MOVIE
    return path


def opened(path: Path, axes: str | None) -> Finding:
    """Open a movie as the stages do."""
    check = "data.movie"
    if path.suffix == ".zarr" and path.is_dir():
        return problem(
            check,
            f"{path} is an OME-Zarr (a folder of chunks), and the stages read OME-TIFF",
            "convert it to OME-TIFF, e.g. by raw2ometiff",
        )
    try:
        movie = Movie.open(path, axes=axes)
    except BadInput as error:
        return refused(check, error)
    height, width = movie.shape_yx
    return ok(
        check,
        f"{path} has {plural(movie.n_frames, 'frame')} of {height} x {width} px, on "
        f"{filesystem_of(path).fs_type}",
    )


def readable(path: Path, axes: str | None, channels: Mapping[str, int]) -> Iterator[Finding]:
    """Read the first frame as stages do, and look for the channels that entries ask for."""
    try:
        movie = Movie.open(path, axes=axes)
        movie.read(0, 1)
    except BadInput as error:
        yield refused("data.movie", error)
        return
    for entry, channel in channels.items():
        if channel >= movie.n_channels:
            yield problem(
                "data.channels",
                f"channel of {entry} is {channel}, but {path} has "
                f"{plural(movie.n_channels, 'channel')}, counted from 0",
                f"set {entry}.channel to at most {movie.n_channels - 1}",
            )


def counted(path: Path) -> Finding:
    """Count slides, as the stages find them."""
    check = "data.slides"
    try:
        slides = len(slide_files(path))
    except BadInput as error:
        return refused(check, error)
    said = f"{slides} slide{'s' * (slides != 1)}"
    return ok(check, f"{path} has {said}, on {filesystem_of(path).fs_type}")


def names(path: Path) -> Finding:
    """Look for names that scripts and container programs take apart."""
    check = "data.names"
    inside = islice(path.iterdir(), _MOST_NAMES) if path.is_dir() else ()
    every = (str(path), *(file.name for file in inside))
    odd = [name for name in every if not _HARMLESS.fullmatch(name)]
    if not odd:
        return ok(check, "its names are plain")
    signs = sorted({sign for name in odd for sign in name if not _HARMLESS.fullmatch(sign)})
    return warning(
        check,
        f"{len(odd)} of its names hold {_listed(signs)} ({odd[0]!r}): pyscale takes them, but "
        "other scripts and tools may not",
        "rename them to letters, digits, '.', '_' and '-'",
    )


def _absent(subject: Subject, registry: Registry) -> Finding:
    check, name = "data.movie", subject.data
    dataset = registry.datasets.get(name)
    if dataset is None:
        return problem(
            check,
            f"{name} is neither a dataset nor an existing path",
            "name a dataset of `pyscale data list`, or a path, by --data",
        )
    state = presence(name, dataset, subject.data_folder)
    if state == "changed":
        return problem(
            check,
            f"a file of {name} in {subject.data_folder} has the wrong size",
            f"pyscale data verify {name}",
        )
    return warning(
        check,
        f"{name} is {'missing' if state == 'absent' else 'incomplete'}: a run would fetch it first",
        f"pyscale data fetch {name}",
    )


def _listed(signs: list[str]) -> str:
    words = {" ": "blanks", "\t": "tabs", "\n": "line ends"}
    plain = [words.get(sign, sign) for sign in signs if sign.isascii()]
    return ", ".join(plain + (["non-ASCII characters"] if len(plain) < len(signs) else []))
