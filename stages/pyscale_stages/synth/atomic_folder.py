"""Made-up data in a folder that appears whole, or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from pydantic import ValidationError

from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.errors import BadInput, as_stage_error


class Kind(NamedTuple):
    """What a folder is to hold, in words, and the file in it that says how it was made."""

    name: str
    absent: str
    params_file: str


def make_whole(folder: Path, params: Record, kind: Kind, write: Callable[[Path], None]) -> Path:
    """Have a folder written beside its place and moved there, unless it is there already.

    A folder that holds what these parameters give, by the file of them in it, is kept, and any
    other is refused. `write`: fills the folder that it is given.
    """
    if _is_there(folder, params, kind):
        return folder
    # Random, because a process id says nothing on a filesystem that several nodes share.
    partial = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}.partial")
    try:
        partial.mkdir(parents=True)
        write(partial)
        write_atomically(partial / kind.params_file, params.model_dump_json(indent=2) + "\n")
        try:
            partial.rename(folder)
        except OSError:
            # Another process may have made the same meanwhile.
            if not _is_there(folder, params, kind):
                raise
    except OSError as error:
        # A write that fails does not say to which file.
        error.filename = error.filename or str(folder)
        raise as_stage_error(error) or BadInput(
            f"{folder} cannot be written ({error.strerror}): choose another place"
        ) from error
    finally:
        # It is not there any more where it was moved.
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _is_there(folder: Path, params: Record, kind: Kind) -> bool:
    """Whether the folder holds what these parameters give; False if there is nothing."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    try:
        found = type(params).model_validate_json((folder / kind.params_file).read_bytes())
    except (OSError, ValidationError) as error:
        raise BadInput(
            f"{folder} exists and {kind.absent} of this version: choose another name, or remove it"
        ) from error
    if found != params:
        fields = type(params).model_fields
        other = [name for name in fields if getattr(found, name) != getattr(params, name)]
        raise BadInput(
            f"{folder} holds {kind.name} made with other parameters ({', '.join(other)}): "
            "choose another name, or remove it"
        )
    return True
