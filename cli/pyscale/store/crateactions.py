"""Origin of a run's files in its RO-Crate: the software, its images, and each trial."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from pyscale.plan import Plan, Trial
from pyscale.store.crateinput import add_file
from pyscale.store.folder import RunFolder
from pyscale.store.tables import TABLES, TASKS_FILE
from pyscale.store.taskfiles import read_task
from pyscale_stages.registry import load_stage

if TYPE_CHECKING:
    from rocrate.model.entity import Entity
    from rocrate.rocrate import ROCrate

Row = dict[str, Any]

_COMPLETED = "http://schema.org/CompletedActionStatus"
_FAILED = "http://schema.org/FailedActionStatus"


def iso(time: datetime) -> str:
    """ISO 8601 to the millisecond with its offset, as the profiles want it."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")


def add_actions(
    crate: ROCrate,
    run: RunFolder,
    manifest: dict[str, Any],
    movie: Entity | None,
    lasted: tuple[datetime, datetime],
) -> None:
    """Add one action for the run, and one for each trial that came to an end.

    One a task would be thousands that say no more than the table of tasks does.
    """
    pyscale = _pyscale(crate, manifest)
    stages = {name: _stage(crate, manifest, name) for name in manifest["versions"]}
    base = (manifest.get("base") or {}).get("versions", {})
    base_stages = {name: _base_stage(crate, run.plan, name, base[name]) for name in base}
    images = _images(crate, manifest)
    hardware = [_hardware(crate, label) for label in manifest["hardware"]]
    rows = _rows_by_trial(run)
    outputs = {
        trial.id: _outputs(crate, run, trial)
        for trial in run.plan.trials
        if trial.is_reference and trial.id in rows
    }
    inputs = [] if movie is None else [movie]
    actions = []
    for trial in run.plan.trials:
        own = rows.get(trial.id, [])
        failed = [row for row in own if row["status"] == "failed"]
        # A trial under way, or one that left no word of its software, is not described.
        is_base = run.plan.suite.stages[trial.entry].version_of is not None
        instrument = (base_stages if is_base else stages).get(trial.stage)
        if instrument is None or (len(own) < len(trial.tasks) and not failed):
            continue
        fed = inputs if trial.reads_movie else []
        fed = fed + [e for item in trial.inputs for e in outputs.get(item.from_trial or "", [])]
        properties = {
            "name": f"{trial.entry} on {_counted(trial.workers, 'worker')}, repeat {trial.block}",
            "description": f"{_share(trial)} by `python -m "
            f"pyscale_stages {trial.stage} run` on {trial.device}, "
            f"{' and '.join(sorted({row['hardware'] for row in own if row['hardware']}))}",
            "instrument": instrument,
            "agent": pyscale,
            "object": fed,
            "result": [_records(crate, trial), *outputs.get(trial.id, [])],
            **_times(own),
            **_status(failed[0]["error"] or "a task failed" if failed else None),
        }
        if trial.image in images:
            properties["containerImage"] = images[trial.image]
        actions.append(_action(crate, f"#trial-{trial.id}", properties))
    incomplete = len(run.plan.trials) - sum(
        action["actionStatus"] == _COMPLETED for action in actions
    )
    whole = _action(
        crate,
        f"#run-{run.plan.run_id}",
        {
            "name": f"Run {run.plan.run_id}",
            "description": f"{len(run.plan.trials)} trials of the suite {run.plan.suite.name}",
            "instrument": crate.root_dataset["mainEntity"],
            "agent": pyscale,
            "object": inputs,
            "result": [
                part
                for part in crate.root_dataset["hasPart"]
                if part.id.startswith(("report/", *(f"{table}." for table in TABLES)))
            ]
            + [entity for trial in outputs.values() for entity in trial],
            "startTime": iso(lasted[0]),
            "endTime": iso(lasted[1]),
            **_status(
                f"{incomplete} of {len(run.plan.trials)} planned trials are not complete"
                if incomplete
                else None
            ),
        },
    )
    crate.root_dataset["mentions"] = [whole, *actions, *hardware]


def _share(trial: Trial) -> str:
    """What its workers had among them, in words."""
    if trial.meets:
        return _counted(trial.workers, "rank")
    return f"{_counted(len(trial.windows), 'window')} of frames"


def _action(crate: ROCrate, identity: str, properties: dict[str, Any]) -> Entity:
    return _described(crate, identity, {"@type": "CreateAction"} | properties)


def _status(error: str | None) -> dict[str, str]:
    return (
        {"actionStatus": _COMPLETED} if error is None else {"actionStatus": _FAILED, "error": error}
    )


def _times(rows: list[Row]) -> dict[str, str]:
    """When the first task began and the last ended, as far as they could tell."""
    starts = [row["start_utc"] or row["begin_utc"] for row in rows]
    ends = [row["end_utc"] for row in rows]
    found = {"startTime": [t for t in starts if t], "endTime": [t for t in ends if t]}
    return {
        name: iso(min(times) if name == "startTime" else max(times))
        for name, times in found.items()
        if times
    }


def _rows_by_trial(run: RunFolder) -> dict[str, list[Row]]:
    columns = ["trial", "status", "error", "begin_utc", "start_utc", "end_utc", "hardware"]
    found: dict[str, list[Row]] = defaultdict(list)
    # A folder's name may hold what would be a pattern.
    tasks = pl.read_parquet(run.path / TASKS_FILE, columns=columns, glob=False)
    for row in tasks.iter_rows(named=True):
        found[row["trial"]].append(row)
    return found


def _records(crate: ROCrate, trial: Trial) -> Entity:
    return crate.add_dataset(
        dest_path=f"tasks/{trial.id}/", properties={"name": f"Records of the trial {trial.id}"}
    )


def _outputs(crate: ROCrate, run: RunFolder, trial: Trial) -> list[Entity]:
    """Output of a reference trial: as files where they are there, else by their checksums."""
    result = read_task(run.task(trial, trial.output_task)).result
    entities = []
    for file in result.outputs if result else ():
        path = run.output(trial) / file.name
        what = f"Output of {trial.entry}"
        if path.is_file():
            name = path.relative_to(run.path).as_posix()
            entities.append(add_file(crate, run, name, what, sha256=file.sha256))
            continue
        properties = {
            "@type": "CreativeWork",
            "name": file.name,
            "description": what,
            "size": f"{file.size_bytes} bytes",
            "sha256": file.sha256,
        }
        identity = f"#output-{trial.id}-{file.name}"
        entities.append(_described(crate, identity, properties))
    return entities


def _pyscale(crate: ROCrate, manifest: dict[str, Any]) -> Entity:
    origin = manifest["pyscale"]
    commit = "" if origin["git_commit"] is None else f", commit {origin['git_commit']}"
    changed = " with changes that were not committed" if origin["git_dirty"] else ""
    return _software(
        crate,
        "#pyscale",
        {
            "name": "pyscale",
            "softwareVersion": origin["version"],
            "description": "Plans, starts, records and analyses the trials: no person is "
            f"recorded{commit}{changed}",
            "softwareRequirements": _software(
                crate,
                "https://www.python.org/",
                {
                    "name": "Python",
                    "softwareVersion": manifest["python"],
                    "url": "https://www.python.org/",
                },
            ),
        },
    )


def _stage(crate: ROCrate, manifest: dict[str, Any], name: str) -> Entity:
    stage, versions = load_stage(name), manifest["versions"][name]
    return _software(
        crate,
        f"#stage-{name}",
        {
            "name": f"stage {name} of pyscale",
            "softwareVersion": manifest["pyscale"]["version"],
            "description": stage.summary,
            "softwareRequirements": _packages(crate, name, versions),
        },
    )


def _base_stage(crate: ROCrate, plan: Plan, name: str, versions: Mapping[str, str]) -> Entity:
    """The stage as it is in what a run was measured against, whose release is not known."""
    return _software(
        crate,
        f"#stage-{name}-base",
        {
            "name": f"stage {name} of pyscale, base version",
            "description": f"{load_stage(name).summary} As in {plan.base}",
            "softwareRequirements": _packages(crate, name, versions),
        },
    )


def _packages(crate: ROCrate, name: str, versions: Mapping[str, str]) -> list[Entity]:
    # The record names devices and drivers too, which are no packages.
    return [
        _package(crate, package, versions[package])
        for package in load_stage(name).packages
        if package in versions
    ]


def _package(crate: ROCrate, name: str, version: str) -> Entity:
    # A local build like 2.5.1+cpu has no page of its own.
    address = f"https://pypi.org/project/{name}/{version.partition('+')[0]}/"
    return _software(crate, address, {"name": name, "softwareVersion": version, "url": address})


def _software(crate: ROCrate, identity: str, properties: dict[str, Any]) -> Entity:
    return _described(crate, identity, {"@type": "SoftwareApplication"} | properties)


def _described(crate: ROCrate, identity: str, properties: dict[str, Any]) -> Entity:
    """Add what is no file; JSON-LD has no lists of one, and none that are empty."""
    from rocrate.model.contextentity import ContextEntity

    entity = ContextEntity(crate, identity, {"@type": properties["@type"]})
    for name, value in properties.items():
        if name != "@type" and value != []:
            single = isinstance(value, list) and len(value) == 1
            entity[name] = value[0] if single else value
    return crate.add(entity)


def _images(crate: ROCrate, manifest: dict[str, Any]) -> dict[str | None, Entity]:
    containers = manifest["containers"] or {"images": []}
    return {
        image["name"]: _described(
            crate,
            f"#image-{image['name']}",
            {
                "@type": "ContainerImage",
                "additionalType": {"@id": "https://w3id.org/ro/terms/workflow-run#SIFImage"},
                "name": image["name"],
                "sha256": image["sha256"],
            },
        )
        for image in containers["images"]
    }


def _hardware(crate: ROCrate, label: str) -> Entity:
    return _described(
        crate,
        f"#hardware-{label.replace(' ', '-')}",
        {
            "@type": "IndividualProduct",
            "name": label,
            "description": "Nodes of one kind that tasks ran on; all that was recorded of them "
            "is in provenance_manifest.json",
        },
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
