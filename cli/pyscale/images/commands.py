"""The commands `pyscale image …`."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pyscale.commandhelp import JSON, argument, group, helped, option, switch

if TYPE_CHECKING:
    from pyscale.images.lockfile import ImageFolder

_helped = partial(helped, settings_are_defaults=True)
image_app = group("Build, verify and pull images of the stages.", "pyscale image build")


def _known_names(incomplete: str) -> list[str]:
    """Names that a shell offers."""
    from pyscale.images.catalog import catalog

    return [name for name in catalog() if name.startswith(incomplete)]


FOLDER = option("DIR", "Folder that holds the images.", "--images-folder")


@image_app.command("list", **_helped("pyscale image list"))
def list_images(images_folder: Path | None = FOLDER, json: bool = JSON) -> None:
    """List every image, its state, date and file."""
    from pyscale.images.listing import listed_images
    from pyscale.images.view import show_images

    folder = _folder(images_folder)
    images = listed_images(folder)
    if json:
        _print_json({"images_folder": folder.path, "images": images})
    else:
        show_images(images, folder.path)


@image_app.command(**_helped("pyscale image build segment contact"))
def build(
    names: list[str] | None = argument(
        "NAME",
        "Images; default: those for CPUs whose parts are available here.",
        autocompletion=_known_names,
    ),
    *,
    mirror: str | None = option("URL", "Mirror of Debian.", show_default="this machine's"),
    base: str | None = option(
        "docker://NAME@sha256:DIGEST|FILE.sif", "Base to build on in place of debootstrap's."
    ),
    wheels: Path | None = option("DIR", "Folder of wheels that were fetched before."),
    force: bool = switch("--force", "Also build what has not changed."),
    images_folder: Path | None = FOLDER,
) -> None:
    """Build images of what has changed, and lock them.

    The exit code is 2 where a build fails or this machine cannot build, 3 where its disk fills
    up; images that were finished before stay.
    """
    from pyscale.console import talk
    from pyscale.images import build as building
    from pyscale.images import catalog, parts, view
    from pyscale.interruption import termination_as_interrupt

    options = building.BuildOptions(base=base, mirror=mirror, wheels=wheels, force=force)
    folder, named = _folder(images_folder), catalog.definitions(names or [])
    with termination_as_interrupt():
        chosen, left_out = (named, {}) if names else parts.buildable(folder, wheels, force=force)
        took = building.build(chosen, folder, options)
    for name, why in left_out.items():
        talk(f"not built: {name}: {why}")
    view.show_built(took, folder)


@image_app.command(**_helped("pyscale image verify"))
def verify(
    images: list[str] | None = argument(
        "NAME|FILE.sif",
        "Images, or any SIF; all that are here where none is given.",
        autocompletion=_known_names,
    ),
    images_folder: Path | None = FOLDER,
    json: bool = JSON,
) -> None:
    """Compare every byte of images with images.lock.

    The exit code is 1 where one is absent, damaged, changed, not locked, or for another kind of
    machine.
    """
    from pyscale.data.progress import TerminalReport
    from pyscale.errors import UserError
    from pyscale.images.lockfile import verdict_on, verdict_on_file
    from pyscale.images.view import show_verdicts

    folder, report = _folder(images_folder), TerminalReport()
    named = images or folder.names()
    if not named:
        raise UserError(f"{folder.path} holds no images: build or pull some first")
    named = [name if _is_file_name(name) else _checked_name(name, folder) for name in named]
    verdicts = [
        verdict_on_file(Path(name), folder, report)
        if _is_file_name(name)
        else verdict_on(folder, name, report)
        for name in named
    ]
    if json:
        _print_json(verdicts)
    else:
        show_verdicts(verdicts)
    if any(verdict.state != "as locked" for verdict in verdicts):
        raise typer.Exit(1)


@image_app.command(**_helped("pyscale image pull oras://registry.example.org/lab/segment:1"))
def pull(
    source: str = argument("oras://HOST/PATH[:TAG]", default=...),
    *,
    as_name: str | None = option("NAME", "Name for it.", "--as", show_default="that of its labels"),
    sha256: str | None = option("SHA256", "Install nothing but this SIF."),
    replace: bool = switch("--replace", "Replace an image that differs from it."),
    no_https: bool = switch("--no-https", "Use plain http, as for a registry on loopback."),
    images_folder: Path | None = FOLDER,
) -> None:
    """Fetch an image from a registry, and lock it."""
    from pyscale.console import talk
    from pyscale.images.engine import find_engine
    from pyscale.images.pull import PullOptions
    from pyscale.images.pull import pull as pull_image
    from pyscale.interruption import termination_as_interrupt

    options = PullOptions(as_name, sha256, replace=replace, no_https=no_https)
    folder = _folder(images_folder)
    with termination_as_interrupt():
        name, locked = pull_image(folder, source, find_engine(), options)
    talk(f"{name} has sha256 {locked.sha256}, as {folder.lock_file} now says")
    typer.echo(folder.sif(name))


def _folder(images_folder: Path | None) -> ImageFolder:
    from pyscale.images.lockfile import ImageFolder
    from pyscale.settings import load_settings

    return ImageFolder(load_settings(images_folder=images_folder).images_folder)


def _is_file_name(text: str) -> bool:
    return text.endswith(".sif") or os.sep in text


def _checked_name(name: str, folder: ImageFolder) -> str:
    """Return the name of an image that pyscale knows, or that is in the folder."""
    from pyscale.errors import UserError
    from pyscale.images.catalog import catalog
    from pyscale_stages.wording import did_you_mean

    known = {*catalog(), *folder.names()}
    if name not in known:
        raise UserError(f"unknown image {name!r}: {did_you_mean(name, known)}")
    return name


def _print_json(value: object) -> None:
    import json

    from pydantic_core import to_jsonable_python

    typer.echo(json.dumps(to_jsonable_python(value), indent=2))
