"""Fields of records that can identify a person or place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, get_args

from pydantic import BaseModel

from pyscale.data.registry import load_registry
from pyscale.images.catalog import catalog
from pyscale.planning.gridaxes import AXES_OF_ALL
from pyscale.planning.plan import Plan
from pyscale.planning.suite import MOVIE, PLACE, SLIDES, TRUTH, Layout, load_suite, suite_names
from pyscale.resources import shipped
from pyscale.settings import Settings
from pyscale.store import records
from pyscale.store.journal import Event
from pyscale.store.provenance import Provenance
from pyscale_stages.contract import PHASES, Device, TaskResult, Verb
from pyscale_stages.registry import STAGE_NAMES, load_stage
from pyscale_stages.residency import CacheState


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


KINDS_BY_FIELD = {
    "node": "node",
    "nodes": "node",
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
PATHS_BY_SETTING = _words(
    "against data truth path runs_folder data_folder images_folder mirror references_folder site"
)
PATH_FIELDS = _words("path movie place truth meeting interpreter code_folder")
FACTORY = "factory"
"""Field that holds the dotted path of a function, which may be a user's own."""
OWN_FACTORIES = _words("pyscale pyscale_stages wsistream")
"""Packages with such functions that anybody can have."""
SAFE_FIELDS = _words("spans calls")
"""Fields without a name in them: most of a record. Of versions see `is_safe`."""
SENTENCES = _words("message warnings text detail reason gpu_reason why_not summary unjudged")
"""Fields that hold sentences, which may quote anything."""
SAID_BY_STAGES = _words(
    "test step unit code measure determinism device backend consumer engine architecture fs_type "
    "options scheduler pyscale_version python_version place_filesystem cache_filesystem"
)
"""Fields that pyscale fills with words of its own, or with names of hardware and software."""
OF_A_USER = _words("slurm threads filesystems node gpu_reason uuid image_sha256 git_commit")
"""Fields of a stamp that hold more than what hardware and systems are called."""
SHAPES = {"axes": r"[TCZYXSIQR]{1,7}", "currency": "[A-Z]{3}", "uuid": "(?!)"}
"""Fields of which a text of one shape is kept, too."""
REMAINS = (
    "the masked archive still names hardware, operating systems and software; it leaves out what "
    "tasks printed, their messages and warnings"
)
PLACE_VERSIONS = ("place_", "cache_")
"""Beginnings of what a record says, among versions, of folders that were measured: on a network
filesystem the device and its options name a server."""
FREE_IN_SITES = _words("summary setup modules binds scratch")
"""Fields of a site that hold what its writer liked: sentences, and lines of shell."""

_ORDINARY = _words(
    "all batch compute cpu debug default express general gpu high interactive local long low main "
    "medium none nobody normal plain pyscale root run runs shared short slurm standard status test "
    "true false"
)
_OF_FILES = (
    "run runs tasks trial w n b out meeting ranks ended submitit models images built here locked "
    "ome tif tiff svs zarr mrxs json jsonl sif toml csv parquet pt zip stdout stderr interrupted "
    "plan provenance journal spec params order withdrawn launch exit result cache surroundings "
    "jobs window masked memory remote python pyscale stages"
)
_OF_PROCESSES = (
    "cores threads sockets close spread master primary granularity fine compact scatter balanced "
    "explicit proclist verbose quiet disabled norespect respect random FASTEST_FIRST PCI_BUS_ID "
    "mask_cpu map_cpu cyclic block pack nopack fcyclic arbitrary plane rank gres gpus count type "
    "mem exec bind env m x bus s BadInput MissingPart ResourceExhausted MemoryError OutOfMemory "
    "TimeLimit Lost Killed Failed Container NoOutput NoMps pyscale_stages PYSCALE"
)
_IN_PLACE_OF_NAMES = "path url mail address server device domain code input entry suite value user"
_NUMBER = re.compile(
    # A checksum has digits among its letters; so has a time.
    r"(?<![A-Za-z])(?:0x[0-9a-f]+|(?=[a-f]*[0-9])[0-9a-f]{7,64}|\d{4}-\d\d-\d\dT[\d:.]+Z?)"
    r"(?![A-Za-z])"
)


@cache
def own_words() -> frozenset[str]:
    """Words that pyscale's records use, or that say nothing: no names, wherever they appear."""
    alternatives = (Verb, Device, Layout)
    choices = (choice for kind in alternatives for choice in get_args(kind))
    states = (state for part in get_args(CacheState) for state in get_args(part) or (part,))
    said = _words(
        "asked cold warm asis done failed queued running strong weak frames labels native "
        "apptainer reference array gang make_dataset"
    )
    fed = (MOVIE, TRUTH, PLACE, SLIDES)
    return frozenset({*PHASES, *choices, *states, *said, *fed, *STAGE_NAMES, *_ORDINARY})


@cache
def _public_words() -> frozenset[str]:
    """Parts of the words that anybody's records may hold."""
    stages = [load_stage(name) for name in STAGE_NAMES]
    suites = [load_suite(name) for name in suite_names()]
    models: list[type] = [Plan, Settings, Provenance, Event, TaskResult]
    models += [model for stage in stages for model in (stage.params, *stage.samples)]
    models += [one for one in vars(records).values() if isinstance(one, type)]
    known = {
        *own_words(),
        *(_OF_FILES, _OF_PROCESSES, _IN_PLACE_OF_NAMES),
        *AXES_OF_ALL,
        *KINDS_BY_FIELD.values(),
        *(stage.output for stage in stages),
        *(slot.name for stage in stages for slot in stage.inputs),
        *(suite.name for suite in suites),
        *catalog(),
        *OWN_FACTORIES,
        *(word for model in models for word in _choices(model)),
        *(word for stage in stages for word in _strings(stage.params.model_construct())),
        *(word for suite in suites for word in _strings(suite.stages | suite.settings)),
    }
    return frozenset(part for word in known for part in _letters(word))


@lru_cache(maxsize=1 << 16)
def is_plain(text: str) -> bool:
    """Whether a text has numbers, checksums and public words alone, so that it names nobody."""
    return _public_words().issuperset(_letters(_NUMBER.sub(" ", text)))


def _letters(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.lower())


def _choices(model: object, seen: frozenset[object] = frozenset()) -> Iterator[str]:
    """Words that a model or an annotation has for alternatives."""
    if isinstance(model, str):
        yield model
    inside = get_args(model)
    if isinstance(model, type) and issubclass(model, BaseModel) and model not in seen:
        yield from model.model_fields
        inside = tuple(field.annotation for field in model.model_fields.values())
    for one in inside:
        yield from _choices(one, seen | {model})


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", warnings=False)
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str):
        yield value


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
