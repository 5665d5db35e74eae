"""The movie that a run measures on, from the name or path in its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pyscale.data import consent
from pyscale.data.fetch import FetchOptions, ensure
from pyscale.data.place import SYNTH_FILE, SYNTH_MOVIE
from pyscale.data.progress import TerminalReport
from pyscale.data.registry import Kind, load_registry
from pyscale.errors import UserError
from pyscale.planning import Dataset
from pyscale.settings import Settings
from pyscale.shipped import shipped
from pyscale.suite import Suite
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie

KIND_IN_WORDS: dict[Kind | Literal["place"], str] = {
    "movie": "a movie",
    "labels": "labels of a movie",
    "images": "single images",
    "slide": "a slide",
    "place": "no data, but a folder",
}


def find_movie(settings: Settings, suite: Suite, *, accept_terms: bool = False) -> Dataset:
    """Find the movie of a run, fetch or make it where it is absent, and read its layout.

    A synthetic movie, in the data folder or anywhere else, brings its truth. What a dataset of
    the registry holds is known before it is fetched; of a path only its pixels tell.

    Parameters
    ----------
    settings : Settings
        They name the data.
    suite : Suite
        It says whether it measures frames or labels.
    accept_terms : bool
        Whether the user has agreed to the terms of a licence.

    Raises
    ------
    UserError
        If there is no such dataset or path, or what is there is not what the suite measures.
    """
    registry = load_registry(shipped("config"))
    entry = registry.datasets.get(settings.data)
    if entry is not None:
        _refuse_other_kind(settings.data, entry.kind, suite)
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
    truth = _truth_beside(path)
    if truth is not None:
        _refuse_other_kind(settings.data, "movie", suite)
    axes = settings.axes or (entry.axes if entry is not None else None)
    try:
        movie = Movie.open(path, axes=axes)
    except BadInput as error:
        raise UserError(str(error)) from error
    if suite.data == "labels" and movie.dtype.kind not in "iu":
        raise UserError(
            f"{path} holds {movie.dtype} values, but the suite {suite.name} measures labels, which "
            "are whole numbers: name a label movie by --data"
        )
    return Dataset(
        movie=path, frames=movie.n_frames, axes=axes, truth=truth, shape_yx=movie.shape_yx
    )


def _refuse_other_kind(name: str, kind: Kind, suite: Suite) -> None:
    if kind != suite.data:
        raise UserError(
            f"{name} holds {KIND_IN_WORDS[kind]}, but the suite {suite.name} measures "
            f"{KIND_IN_WORDS[suite.data]}: name another dataset by --data (`pyscale data list` "
            "shows their kinds), or run another suite"
        )


def _truth_beside(movie: Path) -> Path | None:
    folder = movie.parent
    return folder / "truth" if (folder / SYNTH_FILE).is_file() else None
