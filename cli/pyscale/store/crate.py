"""The RO-Crate of a run: its files and their origin, for machines to read.

It follows RO-Crate 1.1 and the Workflow Run Crate profile 0.5; `docs/decisions/` says why, and
which recommendations do not hold for a run.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale.data.registry import load_registry
from pyscale.errors import UserError
from pyscale.planning.plan import Plan
from pyscale.resources import shipped
from pyscale.store.crateactions import add_actions, add_described, add_file, iso
from pyscale.store.folder import PLAN_FILE, RunFolder
from pyscale.store.journal import Event, Journal
from pyscale.store.manifest import MANIFEST_FILE
from pyscale.store.provenance import PROVENANCE_FILE
from pyscale.store.tables import FILES, TABLES
from pyscale_stages.atomic import write_atomically

if TYPE_CHECKING:
    from rocrate.model.entity import Entity
    from rocrate.rocrate import ROCrate

CRATE_FILE = "ro-crate-metadata.json"
_RO_CRATE_VERSION = "1.1"
_TERMS = "https://w3id.org/ro/terms/workflow-run/context"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
_FILES = {
    "journal.jsonl": "Events of the run",
    PROVENANCE_FILE: "What was frozen when the run began: checksums of its input, and the code",
    MANIFEST_FILE: "What ran, where and from what: versions, checksums, and the whole hardware",
    **{FILES[name]: f"Table: {rows}" for name, (rows, _) in TABLES.items()},
}


def write_crate(run: RunFolder) -> Path:
    """Describe the folder of a run as an RO-Crate; manifest, tables and report come before it."""
    from rocrate.rocrate import ROCrate

    manifest = json.loads((run.path / MANIFEST_FILE).read_bytes())
    events: list[Event] = []
    # Only the beginning and end of the run are taken from it.
    with suppress(UserError):
        events = Journal(run.journal_file).read()
    times = [event.time_utc for event in events] or [datetime.now(UTC)]
    crate = ROCrate(version=_RO_CRATE_VERSION)
    crate.metadata.extra_contexts.append(_TERMS)
    _describe_root(crate, run, manifest, published=times[-1])
    for name, what in _FILES.items():
        if (run.path / name).is_file():
            add_file(crate, run, name, what)
    for file in sorted(run.report.rglob("*")):
        # An archive of the run is no part of it.
        if file.is_file() and file.suffix != ".zip" and not file.name.startswith("."):
            add_file(crate, run, file.relative_to(run.path).as_posix(), "Part of the report")
    crate.add_dataset(
        dest_path="tasks/",
        properties={
            "name": "Records of the tasks",
            "description": "A folder for each trial, and in it one for each task: what it was to "
            "do, how it was started, and what it left; earlier attempts beside them",
        },
    )
    movie = None if run.plan.movie is None else add_input(crate, run.plan, manifest["input"])
    add_actions(crate, run, manifest, movie, (times[0], times[-1]))
    file = run.path / CRATE_FILE
    text = json.dumps(crate.metadata.generate(), indent=1, ensure_ascii=False) + "\n"
    write_atomically(file, text)
    return file


def _describe_root(
    crate: ROCrate, run: RunFolder, manifest: dict[str, Any], published: datetime
) -> None:
    plan = run.plan
    root = crate.root_dataset
    root["name"] = f"pyscale run {plan.run_id}: {plan.suite.name} {plan.on_what}"
    root["description"] = (
        f"{plan.suite.summary}. Measured by pyscale {manifest['pyscale']['version']} with "
        f"{', '.join(sorted({str(trial.workers) for trial in plan.trials}, key=int))} workers: "
        "records of every task, tables, and the report."
    )
    root["datePublished"] = iso(published)
    root["license"] = add_described(
        crate,
        "#license-not-stated",
        "CreativeWork",
        name="No licence is stated",
        description="pyscale does not know under which licence the records of this run may be "
        "used: ask whoever measured it. The licence of its input is another.",
    )
    for address, (name, version) in _PROFILES.items():
        profile = add_described(crate, address, "CreativeWork", name=name, version=version)
        root.append_to("conformsTo", profile)
    crate.metadata["conformsTo"] = [
        {"@id": crate.metadata.profile},
        {"@id": "https://w3id.org/workflowhub/workflow-ro-crate/1.0"},
    ]
    language = add_described(
        crate,
        "#plan-of-pyscale",
        "ComputerLanguage",
        name="Plan of pyscale",
        description="JSON: a frozen suite of stages, which feeds which, the settings, and every "
        "trial in the order in which it runs",
    )
    root["mainEntity"] = add_file(
        crate,
        run,
        PLAN_FILE,
        plan.suite.summary,
        **{
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "name": f"Plan of the suite {plan.suite.name}",
            "version": plan.run_id,
            "programmingLanguage": language,
        },
    )


def add_input(crate: ROCrate, plan: Plan, found: dict[str, Any]) -> Entity:
    """Describe what a run measured on, which lies outside; with its licence where it is known."""
    files = found["files"]
    known = load_registry(shipped("config")).datasets.get(str(plan.settings["data"]))
    terms = {}
    if known is not None:
        licence = {"name": known.licence, "description": known.terms}
        terms["license"] = add_described(crate, known.licence_url, "CreativeWork", **licence)
        terms["citation"] = known.citation
    return add_described(
        crate,
        "#input",
        "CreativeWork",
        name=", ".join(movie.name for movie in plan.movies.values()),
        description=f"The input: {plan.how_much} in {len(files)} file(s); the checksum of each is "
        "in provenance.json",
        size=f"{sum(file['size_bytes'] for file in files)} bytes",
        **({"sha256": files[0]["sha256"]} if len(files) == 1 else {}),
        **terms,
    )
