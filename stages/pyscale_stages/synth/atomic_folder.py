"""Made-up data in a folder that appears whole, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from pyscale_stages.atomic import atomic_folder, write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.errors import BadInput, as_stage_error


class Kind(NamedTuple):
    """What a folder is to hold, in words, and the file in it that says how it was made."""

    name: str
    params_file: str


def make_whole(folder: Path, params: Record, kind: Kind, write: Callable[[Path], None]) -> Path:
    """Have a folder written beside its place and moved there, unless it is there already.

    A folder that holds what these parameters give, by the file of them in it, is kept, and any
    other is refused. `write`: fills the folder that it is given.
    """
    if _is_there(folder, params, kind):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with atomic_folder(folder) as partial:
            partial.mkdir()
            write(partial)
            write_atomically(partial / kind.params_file, params.model_dump_json(indent=2) + "\n")
            # Another process may have made it meanwhile: only the same is replaced.
            _is_there(folder, params, kind)
    except OSError as error:
        raise as_stage_error(error) or BadInput(
            f"{folder} cannot be written ({error.strerror}): choose another place"
        ) from error
    return folder


def _is_there(folder: Path, params: Record, kind: Kind) -> bool:
    """Whether the folder holds what these parameters give; False if there is nothing."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    try:
        found = type(params).model_validate_json((folder / kind.params_file).read_bytes())
    except (OSError, ValidationError) as error:
        raise BadInput(
            f"{folder} exists and holds nothing of {kind.name} of this version: choose another "
            "name, or remove it"
        ) from error
    if found != params:
        fields = type(params).model_fields
        other = [name for name in fields if getattr(found, name) != getattr(params, name)]
        raise BadInput(
            f"{folder} holds {kind.name} made with other parameters ({', '.join(other)}): "
            "choose another name, or remove it"
        )
    return True
