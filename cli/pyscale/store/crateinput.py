"""The input of a run in its RO-Crate: it lies outside the folder, so that it is no part of it."""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale.data.registry import load_registry
from pyscale.plan import Plan
from pyscale.shipped import shipped
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
    """Describe a file of the run's folder."""
    suffix = Path(part).suffix
    media = _FORMATS.get(suffix) or mimetypes.guess_type(part)[0] or "application/octet-stream"
    described = {
        "name": Path(part).name,
        "description": what,
        "encodingFormat": media,
        "contentSize": str((run.path / part).stat().st_size),
    }
    return crate.add_file(dest_path=part, properties=described | properties)


def add_input(crate: ROCrate, plan: Plan, found: dict[str, Any]) -> Entity | None:
    """Describe what a run measured on; with its licence where the registry knows it."""
    if plan.movie is None:
        return None
    from rocrate.model.contextentity import ContextEntity

    files = found["files"]
    names = [movie.name for movie in plan.movies.values()]
    properties: dict[str, Any] = {
        # It is no part of the crate, so it is no File: such a file would have to be there.
        "@type": "CreativeWork",
        "name": ", ".join(names),
        "description": f"The input: {plan.how_much} in {len(files)} file(s); the "
        "checksum of each is in provenance.json",
        "size": f"{sum(file['size_bytes'] for file in files)} bytes",
    }
    if len(files) == 1:
        properties["sha256"] = files[0]["sha256"]
    known = load_registry(shipped("config")).datasets.get(str(plan.settings["data"]))
    if known is not None:
        licence = ContextEntity(
            crate,
            known.licence_url,
            {"@type": "CreativeWork", "name": known.licence, "description": known.terms},
        )
        properties |= {"license": crate.add(licence), "citation": known.citation}
    return crate.add(ContextEntity(crate, "#input", properties))
