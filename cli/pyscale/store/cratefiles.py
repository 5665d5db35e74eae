"""Files of a run in its RO-Crate."""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale.store.folder import RunFolder

if TYPE_CHECKING:
    from rocrate.model.entity import Entity
    from rocrate.rocrate import ROCrate

# What the system's own table of types may lack: the crate must not depend on the machine.
_FORMATS = {
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
}


def add_file(crate: ROCrate, run: RunFolder, part: str, what: str, **properties: object) -> Entity:
    """Describe a file of the run's folder.

    Parameters
    ----------
    crate : ROCrate
    run : RunFolder
    part : str
        Path below the run's folder, with slashes.
    what : str
        What it holds.
    **properties
        More of it.
    """
    suffix = Path(part).suffix
    media = _FORMATS.get(suffix) or mimetypes.guess_type(part)[0] or "application/octet-stream"
    described = {
        "name": Path(part).name,
        "description": what,
        "encodingFormat": media,
        "contentSize": str((run.path / part).stat().st_size),
    }
    return crate.add_file(dest_path=part, properties=described | properties)
