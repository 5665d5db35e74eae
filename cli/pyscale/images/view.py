"""Images shown to a person: what there is, what one is, what verification found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.columns import Columns
from rich.console import Group
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from pyscale.console import answer

if TYPE_CHECKING:
    from pyscale.images.build import BuiltImage
    from pyscale.images.listing import ImageDescription, ListedImage
    from pyscale.images.lockfile import Verdict

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


def show_built(images: Sequence[BuiltImage]) -> None:
    """Print what a build left, and how long each image took."""
    table = Table("image", "size", "time", "sha256", "file", box=None)
    for image in images:
        took = "nothing to do" if image.wall_s is None else f"{image.wall_s:.0f} s"
        table.add_row(
            image.name,
            decimal(image.size_bytes),
            took,
            image.sha256[:SHORT_SHA256],
            Text(str(image.sif)),
        )
    answer(table)


def show_description(image: ImageDescription) -> None:
    """Print what one image is."""
    labels = image.labels
    facts = {
        "image": labels.image,
        "file": str(image.file),
        "stage": labels.stage,
        "pyscale": f"{labels.version} (commit {labels.git_commit or 'unknown'})",
        "content sha256": labels.content_sha256,
        "Python lock sha256": labels.lock_sha256,
        "size": decimal(image.size_bytes),
        "architecture": image.architecture,
        "made": f"{image.created_utc:%Y-%m-%d %H:%M} UTC by {labels.engine}",
    }
    table = Table(box=None, show_header=False)
    for name, value in facts.items():
        table.add_row(name, Text(value))
    answer(
        Group(
            table,
            *_titled("help", Text(image.help_text.strip())),
            *_titled("runscript", Text(image.runscript.strip())),
            *_titled("Python packages", _packages(image.python_packages)),
            *(
                _titled("Python packages under the GPL or LGPL", _packages(image.copyleft))
                if image.copyleft
                else ()
            ),
            *_titled("Debian packages", _packages(image.debian_packages)),
        )
    )


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


def _titled(title: str, content: Text | Columns) -> tuple[Text, Text | Columns]:
    return Text(f"\n{title}", style="bold"), content


def _packages(versions: dict[str, str]) -> Columns:
    return Columns([f"{name} {version}" for name, version in versions.items()], padding=(0, 3))
