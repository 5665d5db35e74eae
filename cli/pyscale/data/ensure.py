"""The movie that a run measures on, from the name or path in its settings."""

from __future__ import annotations

from pathlib import Path

from pyscale.data import consent
from pyscale.data.fetch import FetchOptions, ensure
from pyscale.data.place import SYNTH_FILE, SYNTH_MOVIE
from pyscale.data.progress import TerminalReport
from pyscale.data.registry import load_registry
from pyscale.errors import UserError
from pyscale.planning import Dataset
from pyscale.settings import Settings
from pyscale.shipped import shipped
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie


def find_movie(settings: Settings, *, accept_terms: bool = False) -> Dataset:
    """Find the movie of a run, fetch it where it is absent, and read its layout.

    A synthetic movie, in the data folder or anywhere else, brings its truth.

    Raises
    ------
    UserError
        If there is no such dataset or path, or what is there is no movie.
    """
    registry = load_registry(shipped("config"))
    path = ensure(
        settings.data,
        registry,
        settings.data_folder,
        options=FetchOptions(mirror=settings.mirror),
        consent=consent.given if accept_terms else consent.asked,
        report=TerminalReport(),
    ).resolve()
    if (path / SYNTH_FILE).is_file():
        path /= SYNTH_MOVIE
    entry = registry.datasets.get(settings.data)
    if entry is not None and entry.kind == "slide":
        raise UserError(f"{settings.data} is a slide, not a movie: name another dataset by --data")
    axes = settings.axes or (entry.axes if entry is not None else None)
    try:
        frames = Movie.open(path, axes=axes).n_frames
    except BadInput as error:
        raise UserError(str(error)) from error
    return Dataset(movie=path, frames=frames, axes=axes, truth=_truth_beside(path))


def _truth_beside(movie: Path) -> Path | None:
    folder = movie.parent
    return folder / "truth" if (folder / SYNTH_FILE).is_file() else None
