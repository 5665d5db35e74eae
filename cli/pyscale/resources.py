"""Location of the files that come with pyscale: configuration, templates, image definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pyscale.errors import UserError

ShippedFolder = Literal["config", "sbatch_templates", "containers"]

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parents[1]


def shipped(name: ShippedFolder) -> Path:
    """Folder that comes with pyscale: inside the package in a wheel, at the root of a checkout."""
    for folder in (_PACKAGE / "resources" / name, _CHECKOUT / name):
        if folder.is_dir():
            return folder
    raise UserError(
        f"pyscale's own folder {name} is missing from {_PACKAGE}: install pyscale again"
    )
