"""The commands `pyscale data …`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pyscale.commandhelp import JSON, argument, group, helped, option, switch

if TYPE_CHECKING:
    from pyscale.data.registry import Registry
    from pyscale.settings import Settings

_helped = partial(helped, settings_are_defaults=True)
data_app = group("List, fetch, make and verify datasets.", "pyscale data list")


def _known_names(incomplete: str) -> list[str]:
    """Names that a shell offers."""
    registry, settings = _opened(None, None)
    return [name for name in _all_names(registry, settings) if name.startswith(incomplete)]


FOLDER = option("DIR", "Folder that holds the datasets.", "--data-folder")


@data_app.command("list", **_helped("pyscale data list"))
def list_datasets(data_folder: Path | None = FOLDER, json: bool = JSON) -> None:
    """List every dataset, where it is and its licence."""
    from pyscale.data import listing

    registry, settings = _opened(data_folder, None)
    listing.show(registry, settings.data_folder, as_json=json)


@data_app.command(**_helped("pyscale data fetch cancer-migration"))
def fetch(
    names: list[str] = argument("NAME", default=..., autocompletion=_known_names),
    *,
    mirror: str | None = option(
        "URL|DIR", "Fetch {mirror}/{dataset}/{file} from this address or folder."
    ),
    accept_terms: bool = switch("--accept-terms", "Accept the datasets' terms."),
    data_folder: Path | None = FOLDER,
) -> None:
    """Fetch or make datasets.

    Each file is checked against its published checksum before it appears under its name.
    """
    from pyscale.data.fetch import Fetcher
    from pyscale.data.progress import TerminalReport, asked

    registry, settings = _opened(data_folder, mirror)
    for name in names:
        registry.get(name)
    consent = None if accept_terms else asked
    report = TerminalReport()
    fetcher = Fetcher(registry, settings.data_folder, settings.mirror, consent, report)
    for name in names:
        typer.echo(fetcher.fetch(name))


@data_app.command(**_helped("pyscale data synth mine --frames 20 --size 256"))
def synth(
    name: str = argument("NAME", "Name of the new dataset.", default=...),
    *,
    frames: int | None = option("N", "Length of the movie.", show_default="40"),
    slides: int | None = option("N", "Make this many whole slides in place of a movie."),
    size: str | None = option(
        "PX|HEIGHTxWIDTH",
        "Size of a frame or a slide in pixels.",
        show_default="512, of slides 4096",
    ),
    mpp: float | None = option("UM", "Micrometres per pixel of slides.", show_default="0.5"),
    cells: int | None = option(
        "N",
        "Mean cells of each type per frame.",
        show_default="100 in 512 x 512 pixels, as many to the area in other sizes",
    ),
    cell_types: int | None = option("[1|2]", "Cell types, each a channel.", show_default="1"),
    density: str | None = option(
        "[constant|ramp|burst]", "Cells over time.", show_default="constant"
    ),
    seed: int | None = option("N", "Random seed.", show_default="0"),
    parameter: list[str] | None = option("KEY=VALUE", "Any other parameter; repeatable.", "--set"),
    data_folder: Path | None = FOLDER,
) -> None:
    """Make a synthetic movie or slides, with truth."""
    from pyscale.data.progress import TerminalReport
    from pyscale.data.synthetic import make_synthetic, params_given

    registry, settings = _opened(data_folder, None)
    options = {
        "frames": frames,
        "slides": slides,
        "mpp": mpp,
        "cells": cells,
        "cell_types": cell_types,
        "density_profile": density,
        "seed": seed,
    }
    kind, params = params_given(options, size, parameter or [])
    report = TerminalReport()
    made = make_synthetic(name, registry, settings.data_folder, params, report, kind=kind)
    typer.echo(made)


@data_app.command(**_helped("pyscale data verify"))
def verify(
    names: list[str] | None = argument("NAME", autocompletion=_known_names),
    data_folder: Path | None = FOLDER,
    json: bool = JSON,
) -> None:
    """Checksum every file of datasets.

    Without names, those of all that are here.

    The exit code is 1 where a file is missing, changed, or has no known checksum.
    """
    from pyscale.data import listing

    registry, settings = _opened(data_folder, None)
    if not listing.show_verified(registry, settings.data_folder, names or [], as_json=json):
        raise typer.Exit(1)


@data_app.command(**_helped("pyscale data path mine"))
def path(
    name: str = argument("NAME", default=..., autocompletion=_known_names),
    data_folder: Path | None = FOLDER,
) -> None:
    """Print the path of a dataset's movie or slides."""
    from pyscale.data.verify import dataset_path, presence
    from pyscale.errors import UserError
    from pyscale_stages.wording import did_you_mean

    registry, settings = _opened(data_folder, None)
    movie = dataset_path(name, registry, settings.data_folder)
    if movie is None and name in registry.datasets:
        state = presence(name, registry.get(name), settings.data_folder)
        is_not = {"changed": "has changed", "partly": "is incomplete"}.get(state, "is missing")
        raise UserError(
            f"{name} {is_not} in {settings.data_folder}: run `pyscale data fetch {name}`"
        )
    if movie is None:
        known = _all_names(registry, settings)
        raise UserError(f"unknown dataset {name!r}: {did_you_mean(name, known)}")
    typer.echo(movie)


def _opened(data_folder: Path | None, mirror: str | None) -> tuple[Registry, Settings]:
    from pyscale.data.registry import load_registry
    from pyscale.data.verify import refuse_file
    from pyscale.resources import shipped
    from pyscale.settings import load_settings

    settings = load_settings(data_folder=data_folder, mirror=mirror)
    refuse_file(settings.data_folder)
    return load_registry(shipped("config")), settings


def _all_names(registry: Registry, settings: Settings) -> list[str]:
    from pyscale.data.verify import synthetic_kinds

    return [*registry.datasets, *synthetic_kinds(registry, settings.data_folder)]
