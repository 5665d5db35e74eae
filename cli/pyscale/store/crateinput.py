"""The input of a run in its RO-Crate: it lies outside the folder, so that it is no part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyscale.data.registry import load_registry
from pyscale.plan import Plan
from pyscale.shipped import shipped

if TYPE_CHECKING:
    from rocrate.model.entity import Entity
    from rocrate.rocrate import ROCrate


def add_input(crate: ROCrate, plan: Plan, found: dict[str, Any]) -> Entity | None:
    """Describe what a run measured on; with its licence where the registry knows it.

    Parameters
    ----------
    crate : ROCrate
    plan : Plan
    found : dict
        The `input` of the manifest.

    Returns
    -------
    Entity or None
        None where the run measured the machine alone: a folder that is measured is no input.
    """
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
