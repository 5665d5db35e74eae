"""Hardware, code and settings of a run, and the differences of two runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pyscale.planning.plan import Plan
from pyscale.planning.sweep import Sweep
from pyscale_stages.contract import Record
from pyscale_stages.measure.mounts import UNKNOWN

Kind = Literal["hardware", "nodes", "code", "settings"]

Facts = dict[Kind, dict[str, str]]
"""Name and value, in the order to print."""

SETTINGS = (
    *("executor", "runtime", "device", "cache", "cpus_per_worker", "chunks_per_worker"),
    "seed",
)
"""Settings that can change a time. Worker counts and repeats do not: configurations are compared
one by one. Parameters of stages are taken from the plan, wherever they come from."""

NOT_RECORDED = "-"
SHA_DIGITS = 12
_OF_STAGE = " in "


class Difference(Record):
    """One thing that two runs do not have in common."""

    kind: Kind
    what: str
    base: str
    new: str


class Differing(NamedTuple):
    """One thing that several runs do not have in common, as each has it."""

    kind: Kind
    what: str
    values: tuple[str, ...]


def facts(
    plan: Plan, manifest: Mapping[str, Any], nodes: Iterable[str], entries: Collection[str]
) -> Facts:
    """Everything recorded of a run that could change a time, but its input, for some entries."""
    stamps = [found["stamp"] for found in manifest["hardware"].values()]
    stages = dict.fromkeys(trial.stage for trial in plan.trials if trial.entry in entries)
    packages = {
        f"{package}{_OF_STAGE}{stage}": version
        for stage in stages
        for package, version in manifest["versions"].get(stage, {}).items()
    }
    return {
        "hardware": hardware(stamps),
        "nodes": {"nodes": ", ".join(sorted(set(nodes)))},
        "code": _code(manifest) | _joined(map(_system, stamps)) | packages,
        "settings": _settings(plan, entries),
    }


def hardware(stamps: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Properties of nodes that could change a time, from their stamps."""
    return _joined(map(_hardware, stamps))


def differences(base: Facts, new: Facts) -> list[Difference]:
    """List what differs, hardware first; equal changes of a package in several stages are one."""
    found = differing([base, new])
    return [Difference(kind=k, what=what, base=v[0], new=v[1]) for k, what, v in found]


def differing(sides: Sequence[Facts]) -> list[Differing]:
    """List what not all of several runs have in common, as `differences` does for two."""
    found = []
    for kind in sides[0]:
        for what in dict.fromkeys(name for side in sides for name in side[kind]):
            values = tuple(side[kind].get(what) or NOT_RECORDED for side in sides)
            if len(set(values)) > 1:
                found.append(Differing(kind=kind, what=what, values=values))
    return _packages_together(found)


def _joined(of_stamps: Iterable[dict[str, object]]) -> dict[str, str]:
    """Merge what several kinds of nodes say: all values of each property, in order."""
    values: dict[str, set[str]] = defaultdict(set)
    for properties in of_stamps:
        for name, value in properties.items():
            if value not in (None, ""):
                values[name].add(str(value))
    return {name: "; ".join(sorted(found)) for name, found in values.items()}


def _hardware(stamp: Mapping[str, Any]) -> dict[str, object]:
    cpu, memory, limits = (stamp.get(part, {}) for part in ("cpu", "memory", "limits"))
    gpus = stamp.get("gpus", ())
    known = (fs for fs in stamp.get("filesystems", ()) if fs["fs_type"] != UNKNOWN)
    filesystems = {f"{fs['fs_type']} on {fs['device']}" for fs in known}
    total, limit = memory.get("total_bytes"), limits.get("memory_bytes")
    return {
        "machine": stamp.get("machine"),
        "processor": cpu.get("model"),
        "cores": cpu.get("cores"),
        "hardware threads": cpu.get("threads"),
        "frequency governors": ", ".join(sorted(set(cpu.get("governors", ())))),
        "turbo": cpu.get("turbo"),
        "memory": total and f"{total / 2**30:.0f} GiB",
        "memory limit": limit and f"{limit / 2**30:.3g} GiB",
        "processor quota": limits.get("cpus"),
        "transparent huge pages": memory.get("transparent_hugepages"),
        "GPUs": ", ".join(gpu.get("name") or "unnamed" for gpu in gpus),
        "GPU driver": _of_gpus(gpus, "driver"),
        "GPU power limit (W)": _of_gpus(gpus, "power_limit_w"),
        "GPU split into instances": _of_gpus(gpus, "mig"),
        "filesystems": ", ".join(sorted(filesystems)),
        "kernel": stamp.get("kernel"),
    }


def _of_gpus(gpus: Iterable[Mapping[str, Any]], column: str) -> str:
    return ", ".join(sorted({str(gpu[column]) for gpu in gpus if gpu.get(column) is not None}))


HARDWARE = tuple(_hardware({}))
"""Every property that a stamp can tell of; one that a run leaves out, its nodes do not have."""


def _system(stamp: Mapping[str, Any]) -> dict[str, object]:
    """What tasks ran on, which in an image is the image's."""
    return {
        "operating system": stamp.get("operating_system"),
        "C library": stamp.get("libc"),
        "python of the tasks": stamp.get("python"),
    }


def _code(manifest: Mapping[str, Any]) -> dict[str, str]:
    own, containers = manifest["pyscale"], manifest["containers"] or {}
    commit = own["git_commit"] or ""
    found = {
        "pyscale": own["version"],
        "pyscale's commit": commit[:SHA_DIGITS] + (" with changes" if own["git_dirty"] else ""),
        "python": manifest["python"],
        "container program": containers.get("engine", ""),
    }
    for image in containers.get("images", ()):
        found[f"image {image['name']} (sha256)"] = image["sha256"][:SHA_DIGITS]
    return found


def _packages_together(found: Iterable[Differing]) -> list[Differing]:
    """Name the stages of one change of a package in one line."""
    together: dict[tuple[str, ...], Differing] = {}
    for difference in found:
        package, of_stage, stage = difference.what.partition(_OF_STAGE)
        whole = (difference.what,) if difference.kind != "code" or not of_stage else (package,)
        key = (difference.kind, *whole, *difference.values)
        if key in together:
            what = f"{together[key].what}, {stage}"
            together[key] = together[key]._replace(what=what)
        else:
            together[key] = difference
    return list(together.values())


def _settings(plan: Plan, entries: Collection[str]) -> dict[str, str]:
    found = {"suite": plan.suite.name}
    found |= {name: str(plan.settings[name]) for name in SETTINGS if name in plan.settings}
    found["scaling"] = str(Sweep.of(plan))
    found |= {} if plan.reading is None else plan.reading.given
    if plan.site is not None:
        # What an hour costs changes no time.
        found |= dict(_flat("site", plan.site.model_dump(mode="json", exclude={"prices"})))
    for trial in plan.trials:
        if trial.is_reference and trial.entry in entries:
            found[f"stage of {trial.entry}"] = trial.stage
            for slot, source in plan.suite.stages[trial.entry].inputs.items():
                found[f"input {slot} of {trial.entry}"] = source
            for name, value in trial.params.items():
                found[f"{name} of {trial.entry}"] = str(value)
    return found


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner)
    else:
        yield name, str(value)
