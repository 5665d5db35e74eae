"""Checks of the movie or slides: presence and form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyscale.data.ensure import reading_from
from pyscale.data.registry import SYNTH_MOVIE, Registry, load_registry, made_kind
from pyscale.data.verify import dataset_path, name_and_file, presence
from pyscale.doctor.examined import folder_of
from pyscale.findings import Finding, ok, problem, refused, warning
from pyscale.planning.plan import Plan, TrialInput
from pyscale.resources import shipped
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import AS_IT_IS, Movie, refuse_cut_files
from pyscale_stages.reading import Reading
from pyscale_stages.registry import load_stage
from pyscale_stages.slides.reading import slide_files
from pyscale_stages.wording import plural


def data(plan: Plan) -> Iterator[Finding]:
    """Look for the data of a plan, by names and sizes, and open them as stages do."""
    if plan.suite.reads_data:
        yield _looked_at(plan, plan.settings["data"], plan.settings)
        for own in plan.own_data:
            yield _looked_at(plan, own.data, {})


def _looked_at(plan: Plan, name: str, settings: Mapping[str, Any]) -> Finding:
    registry, folder = load_registry(shipped("config")), folder_of(plan, "data_folder")
    path = dataset_path(name, registry, folder)
    if path is None:
        return _absent(name, registry, folder)
    if made_kind(path) == "movie":
        path /= SYNTH_MOVIE
    try:
        if plan.suite.data == "slides":
            return ok("data.found", path, plural(len(slide_files(path)), "slide"))
        entry = registry.datasets.get(name)
        movie = Movie.open(path, reading=reading_from(settings, entry))
        refuse_cut_files(movie)
    except BadInput as error:
        return refused("data.found", "", error)
    return ok("data.found", path.parent, movie.inventory.line(plan.channels))


def _absent(name: str, registry: Registry, folder: Path) -> Finding:
    name, _ = name_and_file(name, registry)
    dataset = registry.datasets.get(name)
    if dataset is None:
        return problem(
            "data.found",
            name,
            "neither a dataset nor an existing path",
            "name a dataset of `pyscale data list`, or a path, by --data",
        )
    state = presence(name, dataset, folder)
    if state == "changed":
        what = f"a file of it in {folder} has the wrong size"
        return problem("data.found", name, what, f"pyscale data verify {name}")
    what = f"{'missing' if state == 'absent' else 'incomplete'}: a run would fetch it first"
    return warning("data.found", name, what, f"pyscale data fetch {name}")


def first_frame(plan: Plan) -> Iterator[Finding]:
    """Read the first frame of the movie, where stages of pyscale read it, and count its channels.

    A run of an hour may come to the stage that asks for a channel only at its end.
    """
    path = plan.movie
    if path is None or not path.exists() or plan.suite.data not in {"movie", "labels"}:
        return
    readers = {
        trial.entry: trial.params.get("channel")
        for trial in plan.trials
        if not load_stage(trial.stage).runs_outside
        and any(_reads_movie(plan, item) for item in trial.inputs)
    }
    if readers:
        asked = {entry: number for entry, number in readers.items() if isinstance(number, int)}
        yield from _readable(path, plan.reading or AS_IT_IS, asked)


def _reads_movie(plan: Plan, item: TrialInput) -> bool:
    """Whether an input has the channels of the movie: itself, or its frames after registration."""
    if item.from_trial is None:
        return item.path == plan.movie
    return plan.trial(item.from_trial).stage == "register_denoise"


def _readable(path: Path, reading: Reading, channels: Mapping[str, int]) -> Iterator[Finding]:
    try:
        movie = Movie.open(path, reading=reading)
        movie.read(0, 1)
    except BadInput as error:
        yield refused("data.found", "", error)
        return
    for entry, channel in channels.items():
        if channel >= movie.n_channels:
            yield problem(
                "data.channels",
                entry,
                f"its channel is {channel}, but {path} has "
                f"{plural(movie.n_channels, 'channel')}, counted from 0",
                f"set {entry}.channel to at most {movie.n_channels - 1}",
            )
