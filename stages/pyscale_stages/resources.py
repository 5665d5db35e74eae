"""Files that ship with the stages: beside the code in a wheel, in `config/` in a checkout."""

from __future__ import annotations

from pathlib import Path

from pyscale_stages.errors import MissingPart

_PACKAGE = Path(__file__).resolve().parent
MODEL_FOLDERS = (_PACKAGE / "resources" / "models", _PACKAGE.parents[1] / "config" / "models")
"""Where the embedded models lie: in an installed wheel, and in a checkout."""


def embedded_model(name: str) -> Path:
    """Weights file of a model that ships with pyscale, by its name, which is the file's stem."""
    for folder in MODEL_FOLDERS:
        path = folder / f"{name}.pt"
        if path.is_file():
            return path
    raise MissingPart(
        f"the embedded model {name!r} is missing from this installation: install pyscale again, "
        "or train the model with `make model` in a checkout"
    )
