"""Finds the names that a run's records hold: of hosts, people and accounts, and of files."""

from __future__ import annotations

import getpass
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from pyscale.archive import fields
from pyscale.archive.mask import Mask
from pyscale.errors import refused_by_disk
from pyscale.planning.plan import Plan
from pyscale.store.folder import RunFolder
from pyscale.store.lock import lock_holder
from pyscale.store.provenance import read_provenance
from pyscale.tomlfile import shipped_names
from pyscale_stages.measure.nodename import host_name

_HOMES = frozenset(["home", "homes", "Users", "users", "user"])
_SHORT_WORD = 4
_STARTED_ON = re.compile(r"process \d+ on (\S+)")


def mask_of(run: RunFolder, files: Sequence[str]) -> Mask:
    """Read all records of a run for the names in them, and make the mask that replaces them."""
    kinds = {*fields.KINDS_BY_FIELD.values(), "cluster", "user", "code", "suite", "entry"}
    names: dict[str, set[str]] = {kind: set() for kind in kinds}
    paths: set[str] = {str(run.path)}
    for file in files:
        content = read_bytes(run.path / file) or b""
        for line in content.splitlines() if file.endswith(".jsonl") else [content]:
            with suppress(ValueError):
                for field, text in _texts(json.loads(line), ""):
                    _note(field, text, names, paths)
        node = re.fullmatch(r"node\.(.+)\.json", PurePosixPath(file).name)
        if node:
            names["node"].add(node.group(1))
    # Machines that pyscale ran on, this one too: a task that failed may say their names.
    holder = lock_holder(run.path)
    names["node"] |= {host_name(), *([holder.node] if holder else [])}
    names["user"] |= _people(run, paths)
    plan = run.plan
    if plan.site is not None and plan.site.name not in shipped_names("site"):
        names["cluster"].add(plan.site.name)
    data = [plan.settings["data"], *(own.data for own in plan.own_data)] if plan.movie else []
    own_input = not all(map(fields.public_dataset, data)) or plan.settings.get("truth") is not None
    # What lies in an image that is a folder is numbered: the folder is what has a name.
    origin = read_provenance(run.path)
    read = (*origin.input_files, *origin.truth_files)
    inputs = {_below_dataset(plan, file.name) for file in read}
    movies = [movie.name for movie in (*plan.movies.values(), *plan.truths.values())]
    movies += [Path(own.data).name for own in plan.own_data]
    names["suite"] = {name for name in [plan.suite.name] if not fields.is_plain(name)}
    names["entry"] = {entry for entry in plan.suite.stages if not fields.is_plain(entry)}
    own = names["suite"] | names["entry"]
    entries = "|".join(re.escape(entry) for entry in plan.suite.stages)
    return Mask(
        names=names,
        files=[*inputs, *movies] if own_input else (),
        paths=paths,
        kept=fields.public_files() | (set() if own_input else {*inputs, *movies}),
        own_words=fields.own_words() | ({*plan.suite.stages, plan.suite.name} - own),
        trials=rf"(?:{entries})-n\d+-b\d+(?:\.[a-z]+-\d+)?(?:/[a-z]+\d*)?",
        run_id=plan.run_id,
    )


def _below_dataset(plan: Plan, name: str) -> str:
    """First part of the name of an input file below the folder that stands for its dataset."""
    path = PurePosixPath(name)
    for folder in sorted({**plan.movies, **plan.truths}, key=len, reverse=True):
        if path.is_relative_to(folder) and path != PurePosixPath(folder):
            return path.relative_to(folder).parts[0]
    return path.parts[0]


def _texts(value: Any, field: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if not fields.is_safe(key, field):
                yield from _texts(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, field)
    elif isinstance(value, str):
        yield field, value


def _note(field: str, text: str, names: dict[str, set[str]], paths: set[str]) -> None:
    if field in fields.KINDS_BY_FIELD:
        names[fields.KINDS_BY_FIELD[field]].add(text)
    elif field == "SLURM_JOB_NODELIST":
        names["node"].update(fields.nodes_of(text))
    elif field == "detail":
        names["node"].update(_STARTED_ON.findall(text))
    elif field == fields.FACTORY:
        names["code"].update(own_code(text))
    path = text.partition("=")[2] if "=/" in text else text
    if path.startswith("/") and "\n" not in path and ":" not in path:
        paths.add(path)


def own_code(dotted: str) -> Iterator[str]:
    """Names of a user's own function, its module and packages, as settings and errors have them."""
    module, _, function = dotted.partition(":")
    package = module.partition(".")[0]
    if package in fields.OWN_FACTORIES:
        return
    yield dotted
    # A short word could stand in any sentence, as "data" does.
    parts = accumulate(module.split("."), "{}.{}".format)
    yield from (name for name in (*parts, function) if len(name) > _SHORT_WORD)


def _people(run: RunFolder, paths: set[str]) -> set[str]:
    """Whose the run is, who asks for the archive, and whose homes its paths lead through."""
    found = set()
    with suppress(OSError, KeyError):
        found.add(run.path.owner())
    with suppress(OSError, KeyError):
        found.add(getpass.getuser())
    for path in {*paths, str(Path.home()), str(Path.cwd())}:
        parts = PurePosixPath(path).parts
        found |= {after for before, after in pairwise(parts) if before in _HOMES}
    return found - _HOMES


def read_bytes(file: Path) -> bytes | None:
    """Content of a record; None where a run under way has just put its folder aside."""
    again = "so the archive would be incomplete: make it readable, and archive the run again"
    with refused_by_disk(f"{file} cannot be read ({{why}}), {again}"), suppress(FileNotFoundError):
        return file.read_bytes()
    return None
