"""Origin of a run's files in its RO-Crate: the software, its images, and each trial."""

from __future__ import annotations

import mimetypes
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from pyscale.planning.plan import Trial
from pyscale.store.folder import RunFolder
from pyscale.store.tables import TABLES, TASKS_FILE
from pyscale.store.taskfiles import read_task
from pyscale_stages.registry import load_stage
from pyscale_stages.wording import plural

if TYPE_CHECKING:
    from rocrate.model.entity import Entity
    from rocrate.rocrate import ROCrate

Row = dict[str, Any]

_COMPLETED = "http://schema.org/CompletedActionStatus"
_FAILED = "http://schema.org/FailedActionStatus"
# What the system's own table of types may lack: the crate must not depend on the machine.
_FORMATS = {
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
}


def iso(time: datetime) -> str:
    """ISO 8601 to the millisecond with its offset, as the profiles want it."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")


def add_described(crate: ROCrate, identity: str, kind: str, **properties: Any) -> Entity:
    """Add what is no file; JSON-LD has no lists of one, and none that are empty."""
    from rocrate.model.contextentity import ContextEntity

    entity = ContextEntity(crate, identity, {"@type": kind})
    for name, value in properties.items():
        if value != []:
            single = isinstance(value, list) and len(value) == 1
            entity[name] = value[0] if single else value
    return crate.add(entity)


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
    plan = run.plan
    pyscale = _pyscale(crate, manifest)
    release = {"softwareVersion": manifest["pyscale"]["version"]}
    stages = {
        name: _stage(crate, name, versions, release)
        for name, versions in manifest["versions"].items()
    } | {
        # The release of a version of its own is not known.
        trial.entry: _stage(crate, trial.stage, own, {}, trial)
        for trial in plan.trials
        if (own := manifest["entry_versions"].get(trial.entry))
    }
    images = _images(crate, manifest)
    hardware = [
        add_described(
            crate,
            f"#hardware-{label.replace(' ', '-')}",
            "IndividualProduct",
            name=label,
            description="Nodes of one kind that tasks ran on; all that was recorded of them "
            "is in provenance_manifest.json",
        )
        for label in manifest["hardware"]
    ]
    rows = _rows_by_trial(run)
    outputs = {
        trial.id: _outputs(crate, run, trial)
        for trial in plan.trials
        if trial.is_reference and trial.id in rows
    }
    inputs = [] if movie is None else [movie]
    actions = []
    for trial in plan.trials:
        own = rows.get(trial.id, [])
        failed = [row for row in own if row["status"] == "failed"]
        # A trial under way, or one that left no word of its software, is not described.
        instrument = stages.get(trial.entry, stages.get(trial.stage))
        if instrument is None or (len(own) < len(trial.tasks) and not failed):
            continue
        fed = inputs if trial.reads_movie else []
        fed = fed + [e for item in trial.inputs for e in outputs.get(item.from_trial or "", [])]
        share = f"{plural(len(trial.windows), 'window')} of frames"
        if trial.meets:
            share = plural(trial.workers, "rank")
        nodes = " and ".join(sorted({row["hardware"] for row in own if row["hardware"]}))
        records = crate.add_dataset(
            dest_path=f"tasks/{trial.id}/", properties={"name": f"Records of the trial {trial.id}"}
        )
        action = add_described(
            crate,
            f"#trial-{trial.id}",
            "CreateAction",
            name=f"{trial.entry} on {plural(trial.workers, 'worker')}, repeat {trial.block}",
            description=f"{share} by `python -m pyscale_stages {trial.stage} run` on "
            f"{trial.device}, {nodes}",
            instrument=instrument,
            agent=pyscale,
            object=fed,
            result=[records, *outputs.get(trial.id, [])],
            **_times(own),
            **_status(failed[0]["error"] or "a task failed" if failed else None),
            **({"containerImage": images[trial.image]} if trial.image in images else {}),
        )
        actions.append(action)
    completed = sum(action["actionStatus"] == _COMPLETED for action in actions)
    whole = add_described(
        crate,
        f"#run-{plan.run_id}",
        "CreateAction",
        name=f"Run {plan.run_id}",
        description=f"{plural(len(plan.trials), 'trial')} of the suite {plan.suite.name}",
        instrument=crate.root_dataset["mainEntity"],
        agent=pyscale,
        object=inputs,
        result=[
            part
            for part in crate.root_dataset["hasPart"]
            if part.id.startswith(("report/", *(f"{table}." for table in TABLES)))
        ]
        + [entity for trial in outputs.values() for entity in trial],
        startTime=iso(lasted[0]),
        endTime=iso(lasted[1]),
        **_status(
            f"{len(plan.trials) - completed} of {len(plan.trials)} planned trials are not complete"
            if completed < len(plan.trials)
            else None
        ),
    )
    crate.root_dataset["mentions"] = [whole, *actions, *hardware]


def _images(crate: ROCrate, manifest: dict[str, Any]) -> dict[str | None, Entity]:
    return {
        image["name"]: add_described(
            crate,
            f"#image-{image['name']}",
            "ContainerImage",
            additionalType={"@id": "https://w3id.org/ro/terms/workflow-run#SIFImage"},
            name=image["name"],
            sha256=image["sha256"],
        )
        for image in (manifest["containers"] or {"images": []})["images"]
    }


def _status(error: str | None) -> dict[str, str]:
    if error is None:
        return {"actionStatus": _COMPLETED}
    return {"actionStatus": _FAILED, "error": error}


def _times(rows: list[Row]) -> dict[str, str]:
    """When the first task began and the last ended, as far as they could tell."""
    starts = [start for row in rows if (start := row["start_utc"] or row["begin_utc"])]
    ends = [row["end_utc"] for row in rows if row["end_utc"]]
    first = {"startTime": iso(min(starts))} if starts else {}
    return first | ({"endTime": iso(max(ends))} if ends else {})


def _rows_by_trial(run: RunFolder) -> dict[str, list[Row]]:
    columns = ["trial", "status", "error", "begin_utc", "start_utc", "end_utc", "hardware"]
    found: dict[str, list[Row]] = defaultdict(list)
    # A folder's name may hold what would be a pattern.
    tasks = pl.read_parquet(run.path / TASKS_FILE, columns=columns, glob=False)
    for row in tasks.iter_rows(named=True):
        found[row["trial"]].append(row)
    return found


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
        entity = add_described(
            crate,
            f"#output-{trial.id}-{file.name}",
            "CreativeWork",
            name=file.name,
            description=what,
            size=f"{file.size_bytes} bytes",
            sha256=file.sha256,
        )
        entities.append(entity)
    return entities


def _pyscale(crate: ROCrate, manifest: dict[str, Any]) -> Entity:
    origin, python = manifest["pyscale"], "https://www.python.org/"
    commit = "" if origin["git_commit"] is None else f", commit {origin['git_commit']}"
    changed = " with changes that were not committed" if origin["git_dirty"] else ""
    return _software(
        crate,
        "#pyscale",
        name="pyscale",
        softwareVersion=origin["version"],
        description="Plans, starts, records and analyses the trials: no person is "
        f"recorded{commit}{changed}",
        softwareRequirements=_software(
            crate, python, name="Python", softwareVersion=manifest["python"], url=python
        ),
    )


def _stage(
    crate: ROCrate,
    name: str,
    versions: Mapping[str, str],
    release: Mapping[str, str],
    own: Trial | None = None,
) -> Entity:
    """A stage, of pyscale itself or of a version that a trial ran."""
    stage = load_stage(name)
    packages = []
    # The record names devices and drivers too, which are no packages.
    for package in (package for package in stage.packages if package in versions):
        version = versions[package]
        # A local build like 2.5.1+cpu has no page of its own.
        address = f"https://pypi.org/project/{package}/{version.partition('+')[0]}/"
        packages.append(
            _software(crate, address, name=package, softwareVersion=version, url=address)
        )
    return _software(
        crate,
        f"#stage-{name if own is None else own.entry}",
        name=f"stage {name} of pyscale",
        **release,
        description=stage.summary
        if own is None
        else f"{stage.summary} As in {own.interpreter or own.image}",
        softwareRequirements=packages,
    )


def _software(crate: ROCrate, identity: str, **properties: object) -> Entity:
    return add_described(crate, identity, "SoftwareApplication", **properties)
