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


FOLDER = option("DIR", "Folder that holds the datasets.", "--data-folder")


@data_app.command("list", **_helped("pyscale data list"))
def list_datasets(data_folder: Path | None = FOLDER, json: bool = JSON) -> None:
    """List every dataset, where it is and its licence."""
    from pyscale.data import listing

    registry, settings = _opened(data_folder, None)
    listing.show(registry, settings.data_folder, as_json=json)


@data_app.command(**_helped("pyscale data fetch cancer-migration"))
def fetch(
    names: list[str] = argument("NAME", default=...),
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

    registry, settings = _opened(data_folder, mirror)
    for name in names:
        registry.get(name)
    fetcher = Fetcher(registry, settings.data_folder, settings.mirror, accept_terms)
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
    cells: int | None = option(
        "N",
        "Mean cells of each type per frame.",
        show_default="100 in 512 x 512 pixels, as many to the area in other sizes",
    ),
    seed: int | None = option("N", "Random seed.", show_default="0"),
    parameter: list[str] | None = option(
        "KEY=VALUE",
        "Any other parameter, as cell_types=2, density_profile=ramp or mpp=0.25; repeatable.",
        "--set",
    ),
    data_folder: Path | None = FOLDER,
) -> None:
    """Make a synthetic movie or slides, with truth."""
    from pyscale.data.synthetic import make_synthetic, params_given

    registry, settings = _opened(data_folder, None)
    options = {"frames": frames, "slides": slides, "cells": cells, "seed": seed}
    kind, params = params_given(options, size, parameter or [])
    typer.echo(make_synthetic(name, registry, settings.data_folder, params, kind=kind))


@data_app.command(**_helped("pyscale data verify"))
def verify(
    names: list[str] | None = argument("NAME"),
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


def _opened(data_folder: Path | None, mirror: str | None) -> tuple[Registry, Settings]:
    from pyscale.data.registry import load_registry
    from pyscale.errors import UserError
    from pyscale.resources import shipped
    from pyscale.settings import load_settings

    settings = load_settings(data_folder=data_folder, mirror=mirror)
    if settings.data_folder.is_file():
        raise UserError(f"{settings.data_folder} is a file: name a folder by --data-folder")
    return load_registry(shipped("config")), settings
