"""Masks the records of a run, by what each field of them means."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from pyscale.archive.fields import (
    FREE_IN_SITES,
    KINDS_BY_FIELD,
    PATH_FIELDS,
    PATHS_BY_SETTING,
    is_safe,
    nodes_of,
    public_dataset,
)
from pyscale.archive.mask import Mask
from pyscale.tomlfile import shipped_names

_MASKED = "masked"


def masked_record(mask: Mask, name: str, content: bytes) -> bytes:
    """Mask one file of a run.

    Parameters
    ----------
    mask : Mask
    name : str
        Its name below the run's folder: JSON and lines of JSON are masked field by field.
    content : bytes
    """
    # What is no UTF-8 must come out as it was.
    text = content.decode("utf-8", "surrogateescape")
    if name.endswith(".json"):
        masked = _masked_json(mask, text)
    elif name.endswith(".jsonl"):
        masked = "".join(_masked_json(mask, line) for line in text.splitlines(keepends=True))
    else:
        masked = mask.text(text)
    return masked.encode("utf-8", "surrogateescape")


def masked_name(mask: Mask, name: str) -> str:
    """Mask a file's name: that of a node's record holds the name of the node."""
    path = PurePosixPath(name)
    prefix, _, rest = path.name.partition(".")
    if prefix != "node" or not rest.endswith(".json"):
        return name
    node = mask.name("node", rest.removesuffix(".json"))
    return path.with_name(f"node.{node}.json").as_posix()


def _masked_json(mask: Mask, text: str) -> str:
    try:
        record = json.loads(text)
    except ValueError:
        # A line of the journal that a crash tore.
        return mask.text(text)
    return json.dumps(_masked(mask, record, "")) + ("\n" if text.endswith("\n") else "")


def _masked(mask: Mask, value: Any, field: str) -> Any:
    """Mask a value of JSON; keys are pyscale's own."""
    if isinstance(value, dict):
        own = _OF_FIELDS.get(field, _masked)
        return {
            key: item if is_safe(key, field) else own(mask, item, key)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_masked(mask, item, field) for item in value]
    return _masked_text(mask, value, field) if isinstance(value, str) else value


def _masked_text(mask: Mask, text: str, field: str) -> str | None:
    if field in PATH_FIELDS and "/" in text:
        return mask.path(text)
    if field in KINDS_BY_FIELD:
        return mask.name(KINDS_BY_FIELD[field], text)
    if field == "SLURM_JOB_NODELIST":
        return ",".join(mask.name("node", node) for node in nodes_of(text))
    if field == "clock":
        # Addresses of the machine that ran pyscale.
        return None
    if field.startswith("sha256") or field.endswith("_utc"):
        return text
    before, _, after = text.partition("=")
    if after.startswith("/") and " " not in before:
        return f"{mask.text(before)}={_masked_path(mask, after)}"
    return _masked_path(mask, text) if text.startswith("/") else mask.text(text)


def _masked_path(mask: Mask, text: str) -> str:
    """Mask a text that begins with a slash: a path to its end, unless more is said after it."""
    return mask.text(text) if ":" in text or "\n" in text else mask.path(text)


def _setting(mask: Mask, value: Any, name: str) -> Any:
    if (name == "data" and public_dataset(value)) or (
        name == "site" and value in shipped_names("site")
    ):
        return value
    if name in PATHS_BY_SETTING and isinstance(value, str):
        return mask.path(value)
    if name in {"images", "stages", "grid"}:
        return _parameter(mask, value, name)
    return _masked(mask, value, name)


def _parameter(mask: Mask, value: Any, name: str) -> Any:
    """Mask a parameter: a text with a slash is taken for a path, even if that is relative."""
    if isinstance(value, dict):
        return {key: _parameter(mask, item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_parameter(mask, item, name) for item in value]
    if isinstance(value, str) and "/" in value and "://" not in value:
        return mask.path(value)
    return _masked(mask, value, name)


def _of_site(mask: Mask, value: Any, field: str) -> Any:
    """Mask what a cluster wants to be told: lines of shell could hold anything."""
    if field == "name":
        return mask.name("cluster", value)
    if field in FREE_IN_SITES and value is not None:
        return _MASKED if isinstance(value, str) else [_MASKED for _ in value]
    if field == "options":
        return [
            f"{name}={_MASKED}" if given else name
            for name, given, _ in (option.partition("=") for option in value)
        ]
    return _masked(mask, value, field)


_OF_FIELDS: dict[str, Callable[[Mask, Any, str], Any]] = {
    "settings": _setting,
    "params": _parameter,
    "grid": _parameter,
    "point": _parameter,
    "site": _of_site,
}
