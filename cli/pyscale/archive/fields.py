"""What the fields of records hold that can say who and where somebody is."""

from __future__ import annotations

import re
from typing import get_args

from pyscale.data.registry import load_registry
from pyscale.shipped import shipped
from pyscale.suite import MOVIE, PLACE, SLIDES, Layout
from pyscale_stages.contract import PHASES, Device, GpuSharing, Verb
from pyscale_stages.registry import STAGE_NAMES
from pyscale_stages.residency import CacheState

KINDS_BY_FIELD = {
    "node": "node",
    "SLURMD_NODENAME": "node",
    "account": "account",
    "partition": "partition",
    "SLURM_JOB_PARTITION": "partition",
    "qos": "qos",
    "SLURM_JOB_QOS": "qos",
    "constraint": "constraint",
    "SLURM_CLUSTER_NAME": "cluster",
}
"""Fields that hold a name and nothing else, and what it is the name of."""
PATHS_BY_SETTING = frozenset(
    [
        *("data", "path", "runs_folder", "data_folder", "images_folder", "mirror"),
        *("references_folder", "site"),
    ]
)
"""Settings that are a path, which may be relative."""
PATH_FIELDS = frozenset(["path", "movie", "place", "truth", "meeting"])
"""Fields that hold a path and nothing else."""
FACTORY = "factory"
"""Field that holds the dotted path of a function, which may be a user's own."""
OWN_FACTORIES = frozenset(["pyscale", "pyscale_stages", "wsistream"])
"""Packages with such functions that anybody can have."""
SAFE_FIELDS = frozenset(["spans", "calls"])
"""Fields without a name in them: most of a record. Of versions see `is_safe`."""
PLACE_VERSIONS = ("place_", "cache_")
"""Beginnings of what a record says, among versions, of folders that were measured: on a network
filesystem the device and its options name a server."""
FREE_IN_SITES = frozenset(["summary", "setup", "modules", "binds", "scratch"])
"""Fields of a site that hold what its writer liked: sentences, and lines of shell."""

_ORDINARY = frozenset(
    "all batch compute cpu debug default express general gpu high interactive local long low "  # noqa: SIM905
    "main medium none nobody normal plain pyscale root run runs shared short slurm standard "
    "status test true false".split()
)


def own_words() -> set[str]:
    """Words that pyscale's records use, or that say nothing: no names, wherever they appear."""
    choices = (
        *PHASES,
        *get_args(Verb),
        *get_args(Device),
        *get_args(GpuSharing),
        *get_args(Layout),
    )
    states = (state for part in get_args(CacheState) for state in get_args(part) or (part,))
    said = ("asked", "cold", "warm", "asis", "done", "failed", "queued", "running", "strong")
    fed = (
        MOVIE,
        PLACE,
        SLIDES,
        "frames",
        "labels",
        "weak",
        "native",
        "apptainer",
        "reference",
        "array",
        "gang",
        "make_dataset",
    )
    return {*choices, *states, *said, *fed, *STAGE_NAMES, *_ORDINARY}


def is_safe(field: str, inside: str) -> bool:
    """Whether a field holds no name, by its name and that of the field that it lies in."""
    if inside == "versions":
        return not field.startswith(PLACE_VERSIONS)
    return field in SAFE_FIELDS


def public_dataset(name: object) -> bool:
    """Whether a dataset is one of those that pyscale knows by name."""
    return name in load_registry(shipped("config")).datasets


def public_files() -> set[str]:
    """Names of files that anybody can fetch, and of pyscale's own programs and images."""
    datasets = load_registry(shipped("config")).datasets.values()
    remote = {file.name for dataset in datasets for file in dataset.files}
    return remote | {"python", "python3"} | {f"{stage}.sif" for stage in STAGE_NAMES}


def nodes_of(names: str) -> list[str]:
    """Names of nodes in Slurm's short form: `n[01-03,7],login` is n01, n02, n03, n7 and login."""
    found = []
    for part in re.findall(r"[^,\[\]]+(?:\[[^\]]*\])?", names):
        prefix, _, numbers = part.rstrip("]").partition("[")
        if not numbers:
            found.append(prefix)
        for numbered in filter(None, numbers.split(",")):
            first, _, last = numbered.partition("-")
            last = last or first
            if first.isdigit() and last.isdigit():
                count = range(int(first), int(last) + 1)
                found += [f"{prefix}{number:0{len(first)}}" for number in count]
    return found
