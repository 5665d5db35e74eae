"""The commands `pyscale image …`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pyscale.commandhelp import JSON, argument, group, helped, option, switch

if TYPE_CHECKING:
    from pyscale.images.lockfile import FoundImage, ImageFolder

_helped = partial(helped, settings_are_defaults=True)
image_app = group("Build, verify and pull images of the stages.", "pyscale image build")
SHORT_SHA256 = 12


FOLDER = option("DIR", "Folder that holds the images.", "--images-folder")


@image_app.command("list", **_helped("pyscale image list"))
def list_images(images_folder: Path | None = FOLDER, json: bool = JSON) -> None:
    """List every image, its state, date and file."""
    from pyscale.images.catalog import catalog
    from pyscale.images.lockfile import look

    folder = _folder(images_folder)
    names = dict.fromkeys((*catalog(), *folder.names()))
    _show([look(folder, name) for name in names], folder, json=json)


@image_app.command(**_helped("pyscale image build segment contact"))
def build(
    names: list[str] | None = argument(
        "NAME",
        "Images; default: those for CPUs that need no Maven repository.",
    ),
    *,
    base: str | None = option(
        "URL|docker://NAME@sha256:DIGEST",
        "Mirror of Debian, or image to build on.",
        show_default="this machine's mirror",
    ),
    force: bool = switch("--force", "Also build what has not changed."),
    images_folder: Path | None = FOLDER,
) -> None:
    """Build images of what has changed, and lock them.

    The exit code is 2 where a build fails or this machine cannot build; images that were finished
    before stay.
    """
    from pyscale.console import talk
    from pyscale.images import build as building
    from pyscale.images.catalog import catalog, definitions
    from pyscale.images.lockfile import look
    from pyscale.interruption import termination_as_interrupt

    folder, chosen = _folder(images_folder), definitions(names or [])
    if not names:
        chosen = [definition for definition in chosen if not definition.by_name_alone]
    with termination_as_interrupt():
        built = building.build(chosen, folder, base=base, force=force)
    if not built:
        talk("nothing to do: what these images are made from has not changed")
    if not names:
        left_out = [name for name, one in catalog().items() if one.by_name_alone]
        talk(f"built only by name: {', '.join(left_out)}")
    _show([look(folder, definition.name) for definition in chosen], folder)


@image_app.command(**_helped("pyscale image verify"))
def verify(
    names: list[str] | None = argument(
        "NAME",
        "Images; all that are here where none is given.",
    ),
    images_folder: Path | None = FOLDER,
    json: bool = JSON,
) -> None:
    """Compare every byte of images with images.lock.

    The exit code is 1 where one is absent, damaged, changed, not locked, or for another kind of
    machine.
    """
    from pyscale.errors import UserError
    from pyscale.images.catalog import catalog
    from pyscale.images.lockfile import AS_LOCKED, look
    from pyscale_stages.wording import did_you_mean

    folder = _folder(images_folder)
    here = folder.names()
    if not (names or here):
        raise UserError(f"{folder.path} holds no images: build or pull some first")
    for name in names or ():
        if name not in (known := {*catalog(), *here}):
            raise UserError(f"unknown image {name!r}: {did_you_mean(name, known)}")
    found = [look(folder, name, reads=True) for name in names or here]
    _show(found, folder, json=json)
    if any(image.state not in AS_LOCKED for image in found):
        raise typer.Exit(1)


@image_app.command(**_helped("pyscale image pull oras://registry.example.org/lab/segment:1"))
def pull(
    source: str = argument("oras://HOST/PATH[:TAG]", default=...),
    *,
    images_folder: Path | None = FOLDER,
) -> None:
    """Fetch an image from a registry, and lock it.

    It takes the place of the one that has its name.
    """
    from pyscale.images.build import pull as pull_image
    from pyscale.images.engine import find_engine
    from pyscale.images.lockfile import look
    from pyscale.interruption import termination_as_interrupt

    folder = _folder(images_folder)
    with termination_as_interrupt():
        name = pull_image(folder, source, find_engine())
    _show([look(folder, name)], folder)


def _folder(images_folder: Path | None) -> ImageFolder:
    from pyscale.images.lockfile import ImageFolder
    from pyscale.settings import load_settings

    return ImageFolder(load_settings(images_folder=images_folder).images_folder)


def _show(images: Sequence[FoundImage], folder: ImageFolder, *, json: bool = False) -> None:
    """Print images with their states, and what is to be done about those that are here."""
    from pydantic_core import to_json
    from rich.filesize import decimal
    from rich.table import Table
    from rich.text import Text

    from pyscale.console import answer, talk

    if json:
        told = {"images_folder": folder.path, "images": images}
        typer.echo(to_json(told, indent=2))
        return
    table = Table("image", "stage", "device", "state", "size", "built", "sha256", box=None)
    for image in images:
        lock = image.lock if image.size_bytes is not None else None
        table.add_row(
            image.name,
            image.stage or "?",
            image.device or "?",
            image.state,
            "" if image.size_bytes is None else decimal(image.size_bytes),
            "" if lock is None else f"{lock.built_utc:%Y-%m-%d %H:%M} UTC",
            "" if lock is None else lock.sha256[:SHORT_SHA256],
        )
    answer(Text(f"images in {folder.path}"))
    answer(table)
    for image in images:
        if image.sentence and image.state != "absent":
            talk(image.sentence)
