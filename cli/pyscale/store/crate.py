"""The RO-Crate of a run: its files and their origin, for machines to read.

It follows RO-Crate 1.1 and the Workflow Run Crate profile 0.5; `docs/decisions/` says why, and
which recommendations do not hold for a run.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from pyscale.errors import UserError
from pyscale.planning.plan import Plan
from pyscale.store.folder import PLAN_FILE, RunFolder
from pyscale.store.journal import Event, Journal
from pyscale.store.manifest import MANIFEST_FILE
from pyscale.store.provenance import PROVENANCE_FILE
from pyscale.store.tables import FILES, TABLES
from pyscale_stages.atomic import write_atomically
from pyscale_stages.wording import plural

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
_FORMATS = {
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".parquet": "application/vnd.apache.parquet",
}
_FOLDERS = {
    "report/": ("Report", "Answers, tables of configurations, charts and figures"),
    "tasks/": (
        "Records of the tasks",
        "A folder for each trial, and in it one for each task: what it was to do, how it was "
        "started, and what it left; earlier attempts beside them",
    ),
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
            _add_file(crate, run, name, what)
    for folder, (name, what) in _FOLDERS.items():
        if (run.path / folder).is_dir():
            crate.add_dataset(dest_path=folder, properties={"name": name, "description": what})
    _add_action(crate, run, manifest, (times[0], times[-1]))
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
    root["datePublished"] = _iso(published)
    root["license"] = _describe(
        crate,
        "#license-not-stated",
        "CreativeWork",
        name="No licence is stated",
        description="pyscale does not know under which licence the records of this run may be "
        "used: ask whoever measured it. The licence of its input is another.",
    )
    for address, (name, version) in _PROFILES.items():
        profile = _describe(crate, address, "CreativeWork", name=name, version=version)
        root.append_to("conformsTo", profile)
    crate.metadata["conformsTo"] = [
        {"@id": crate.metadata.profile},
        {"@id": "https://w3id.org/workflowhub/workflow-ro-crate/1.0"},
    ]
    language = _describe(
        crate,
        "#plan-of-pyscale",
        "ComputerLanguage",
        name="Plan of pyscale",
        description="JSON: a frozen suite of stages, which feeds which, the settings, and every "
        "trial in the order in which it runs",
    )
    root["mainEntity"] = _add_file(
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


def _add_input(crate: ROCrate, plan: Plan, found: dict[str, Any]) -> Entity:
    """Describe what a run measured on, which lies outside."""
    files = found["files"]
    return _describe(
        crate,
        "#input",
        "CreativeWork",
        name=", ".join(movie.name for movie in plan.movies.values()),
        description=f"The input: {plan.how_much} in {plural(len(files), 'file')}; the checksum "
        "of each is in provenance.json",
        size=f"{sum(file['size_bytes'] for file in files)} bytes",
        **({"sha256": files[0]["sha256"]} if len(files) == 1 else {}),
    )


def _add_action(
    crate: ROCrate,
    run: RunFolder,
    manifest: dict[str, Any],
    lasted: tuple[datetime, datetime],
) -> None:
    """Add the run as one action; what each trial and task did stands in the tables."""
    plan = run.plan
    tasks = pl.read_parquet(run.path / FILES["tasks"], columns=["trial", "status"], glob=False)
    ended = Counter(tasks.filter(pl.col("status") == "done")["trial"])
    missing = sum(ended[trial.id] < len(trial.tasks) for trial in plan.trials)
    properties = {
        "name": f"Run {plan.run_id}",
        "description": f"{plural(len(plan.trials), 'trial')} of the suite {plan.suite.name}",
        "startTime": _iso(lasted[0]),
        "endTime": _iso(lasted[1]),
        "actionStatus": "http://schema.org/CompletedActionStatus",
    }
    if missing:
        properties |= {
            "actionStatus": "http://schema.org/FailedActionStatus",
            "error": f"{missing} of {len(plan.trials)} planned trials are not complete",
        }
    results = ("report/", *(f"{table}." for table in TABLES))
    action = crate.add_action(
        crate.root_dataset["mainEntity"],
        identifier=f"#run-{plan.run_id}",
        object=None if plan.movie is None else _add_input(crate, plan, manifest["input"]),
        result=[part for part in crate.root_dataset["hasPart"] if part.id.startswith(results)],
        properties=properties,
    )
    action["agent"] = _add_software(crate, manifest)
    for image in (manifest["containers"] or {"images": []})["images"]:
        described = _describe(
            crate,
            f"#image-{image['name']}",
            "ContainerImage",
            additionalType={"@id": "https://w3id.org/ro/terms/workflow-run#SIFImage"},
            name=image["name"],
            sha256=image["sha256"],
        )
        action.append_to("containerImage", described)
    crate.root_dataset["mentions"] = action


def _add_software(crate: ROCrate, manifest: dict[str, Any]) -> Entity:
    """Describe pyscale; the manifest names the packages that its stages computed with."""
    origin = manifest["pyscale"]
    commit = "" if origin["git_commit"] is None else f", commit {origin['git_commit']}"
    changed = " with changes that were not committed" if origin["git_dirty"] else ""
    return _describe(
        crate,
        "#pyscale",
        "SoftwareApplication",
        name="pyscale",
        softwareVersion=origin["version"],
        description="Plans, starts, records and analyses the trials: no person is "
        f"recorded{commit}{changed}",
    )


def _describe(crate: ROCrate, identity: str, kind: str, **properties: Any) -> Entity:
    """Add what is no file."""
    from rocrate.model.contextentity import ContextEntity

    return crate.add(ContextEntity(crate, identity, {"@type": kind} | properties))


def _add_file(crate: ROCrate, run: RunFolder, part: str, what: str, **properties: object) -> Entity:
    """Describe a file of the run's folder."""
    described = {
        "name": Path(part).name,
        "description": what,
        "encodingFormat": _FORMATS[Path(part).suffix],
        "contentSize": str((run.path / part).stat().st_size),
    }
    return crate.add_file(dest_path=part, properties=described | properties)


def _iso(time: datetime) -> str:
    """ISO 8601 to the millisecond with its offset, as the profiles want it."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")
