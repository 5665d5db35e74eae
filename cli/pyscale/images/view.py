"""Images shown to a person: what there is, what a build left, what verification found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from pyscale.console import answer

if TYPE_CHECKING:
    from pyscale.images.listing import ListedImage
    from pyscale.images.lockfile import ImageFolder, Verdict

SHORT_SHA256 = 12


def show_images(images: Sequence[ListedImage], folder: Path) -> None:
    """Print every image with its state."""
    table = Table("image", "stage", "device", "state", "size", "built", "sha256", box=None)
    for image in images:
        state = f"{image.state}: {image.because}" if image.because else image.state
        table.add_row(
            image.name,
            image.stage,
            image.device,
            state,
            "" if image.size_bytes is None else decimal(image.size_bytes),
            "" if image.built_utc is None else f"{image.built_utc:%Y-%m-%d %H:%M} UTC",
            (image.sha256 or "")[:SHORT_SHA256],
        )
    answer(Group(Text(f"images in {folder}"), table))


def show_built(took: Mapping[str, float | None], folder: ImageFolder) -> None:
    """Print what a build left, and how long each image took."""
    table = Table("image", "size", "time", "sha256", "file", box=None)
    locked = folder.read_lock().images
    for name, wall_s in took.items():
        table.add_row(
            name,
            decimal(locked[name].size_bytes),
            "nothing to do" if wall_s is None else f"{wall_s:.0f} s",
            locked[name].sha256[:SHORT_SHA256],
            Text(str(folder.sif(name))),
        )
    answer(table)


def show_verdicts(verdicts: Sequence[Verdict]) -> None:
    """Print what became of each image."""
    table = Table("image", "state", "sha256", "what to do", box=None)
    for verdict in verdicts:
        table.add_row(
            verdict.name,
            verdict.state,
            (verdict.sha256 or "")[:SHORT_SHA256],
            Text(verdict.sentence),
        )
    answer(table)
