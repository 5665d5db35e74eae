"""Datasets that pyscale makes, movies and slides: their files and parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from pyscale.data.registry import MadeParams
from pyscale_stages.slides.synthetic import PARAMS_FILE as SLIDES_FILE

SYNTH_FILE = "synth.json"
SYNTH_MOVIE = "movie.ome.tif"

MadeKind = Literal["movie", "slides"]
FILES: dict[MadeKind, str] = {"movie": SYNTH_FILE, "slides": SLIDES_FILE}
"""File in the folder of each kind that says by which parameters it was made."""
READS: dict[MadeKind, str] = {"movie": SYNTH_MOVIE, "slides": "."}
"""What a run reads of the folder of each kind; . is the folder itself."""


def made_kind(folder: Path) -> MadeKind | None:
    """Kind of what was made in a folder; None where nothing was."""
    for kind, file in FILES.items():
        if (folder / file).is_file():
            return kind
    return None


def made_by(folder: Path) -> MadeParams | None:
    """Parameters of what was made in a folder; None where nothing was, or by another version."""
    kind = made_kind(folder)
    if kind is None:
        return None
    params: TypeAdapter[MadeParams] = TypeAdapter(MadeParams)
    try:
        # Each kind of parameters is written with all its fields, and refuses those of others.
        return params.validate_json((folder / FILES[kind]).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
