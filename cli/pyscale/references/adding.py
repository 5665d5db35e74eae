"""A reference into the user's folder: its table first, then the file by which it is found."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path

from pyscale.errors import UserError
from pyscale.references.files import reference_files
from pyscale.references.model import NAME_PATTERN, Loaded
from pyscale_stages.atomic import write_atomically


def refuse_name(name: str, own: Path) -> None:
    """Raise where no reference can be added under a name: it is none, or is one already."""
    if re.fullmatch(NAME_PATTERN, name) is None:
        raise UserError(
            f"invalid reference name {name!r}: use lower-case letters, digits, - and _, as in "
            "--name our-cluster-2026"
        )
    files = reference_files(own)
    if name in files:
        is_own = files[name].parent == own
        way_out = f", or remove {files[name]} and its .csv" if is_own else ""
        raise UserError(
            f"the reference {name} exists already: choose another name by --name{way_out}"
        )


def write_reference(loaded: Loaded, own: Path) -> Path:
    """Write both files of a reference, and return the one that describes it."""
    path = own / f"{loaded.reference.name}.toml"
    try:
        own.mkdir(parents=True, exist_ok=True)
        write_atomically(path.with_suffix(".csv"), loaded.table.write_csv())
        write_atomically(path, _toml(loaded))
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise UserError(
            f"{own} cannot be written ({error.strerror}): set references_folder to a writable "
            "folder"
        ) from error
    return path


def _toml(loaded: Loaded) -> str:
    """Lay a reference out as people write one."""
    told = loaded.reference.model_dump(mode="json", exclude={"name"}, exclude_none=True)
    tables = {key: told.pop(key) for key in ("hardware", "stages", "steps", "size_ids")}
    told["caveats"] = list(told["caveats"])
    lines = [f"{key} = {_value(value)}" for key, value in told.items()]
    for key, table in tables.items():
        if not table and key not in {"hardware", "stages"}:
            continue
        lines += ["", f"[{key}]"]
        lines += [f"{toml_key(name)} = {_value(value)}" for name, value in table.items()]
    return "\n".join(lines) + "\n"


def toml_key(name: str) -> str:
    """Write a key of TOML, in quotes where it has other signs than names have."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: bool | str | list[str]) -> str:
    """Write a value as TOML, whose strings are escaped as those of JSON."""
    if isinstance(value, list):
        return "[\n" + "".join(f"    {_value(one)},\n" for one in value) + "]"
    return json.dumps(value, ensure_ascii=False)
