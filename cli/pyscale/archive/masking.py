"""Masks the records of a run, by what each field of them means."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from pyscale.archive import fields
from pyscale.archive.mask import Mask
from pyscale.images.lockfile import LOCK_NAME
from pyscale.planning.suite import load_suite, suite_names
from pyscale.tomlfile import shipped_names

_MASKED = "masked"
_Masker = Callable[[Mask, Any, str], Any]


def masked_record(mask: Mask, name: str, content: bytes) -> bytes:
    """Mask one file of a run."""
    text = content.decode("utf-8", "replace")
    if name.endswith((".json", LOCK_NAME)):
        masked = _masked_json(mask, text)
    elif name.endswith(".jsonl"):
        masked = "".join(_masked_json(mask, line) for line in text.splitlines(keepends=True))
    else:
        # What a task printed may be anything.
        masked = f"{_MASKED}\n" if text.strip() else ""
    return masked.encode()


def masked_name(mask: Mask, name: str) -> str:
    """Mask a file's name: that of a node's record holds the node's, a trial's that of an entry."""
    *folders, file = PurePosixPath(name).parts
    prefix, _, rest = file.partition(".")
    if prefix == "node" and rest.endswith(".json"):
        file = f"node.{mask.name('node', rest.removesuffix('.json'))}.json"
    return PurePosixPath(*map(mask.word, folders), file).as_posix()


def _masked_json(mask: Mask, text: str) -> str:
    try:
        record = json.loads(text)
    except ValueError:
        # A torn line of the journal, or a damaged record, which stays one without its text.
        return ""
    return json.dumps(_masked(mask, record, "")) + ("\n" if text.endswith("\n") else "")


def _masked(mask: Mask, value: Any, field: str) -> Any:
    if isinstance(value, dict):
        of_field: _Masker = _OF_FIELDS.get(field, _record)
        return of_field(mask, value, field)
    if isinstance(value, list):
        # A record in a list is none of those that its field's name stands for.
        return [_masked(mask, item, "" if isinstance(item, dict) else field) for item in value]
    return _masked_text(mask, value, field) if isinstance(value, str) else value


def _record(mask: Mask, record: dict[str, Any], field: str) -> dict[str, Any]:
    return {
        key: item if fields.is_safe(key, field) else _masked(mask, item, key)
        for key, item in record.items()
    }


def _masked_text(mask: Mask, text: str, field: str) -> str | None:
    if field in fields.PATH_FIELDS and "/" in text:
        return mask.path(text)
    if field in fields.KINDS_BY_FIELD:
        return mask.name(fields.KINDS_BY_FIELD[field], text)
    if field == fields.FACTORY:
        return mask.name("code", text)
    if field == "SLURM_JOB_NODELIST":
        return ",".join(mask.name("node", node) for node in fields.nodes_of(text))
    if field == "clock":
        # Addresses of the machine that ran pyscale.
        return None
    if field == "run_id" or field in fields.SAID_BY_STAGES:
        return mask.text(text)
    if field in fields.SHAPES and re.fullmatch(fields.SHAPES[field], text):
        return text
    if field in fields.SENTENCES:
        # A report tells ranks whose memory ran out from others that failed.
        of_memory = f"{_MASKED}: memory" if "memory" in text else _MASKED
        return text if fields.is_plain(text) else of_memory
    before, _, after = text.partition("=")
    if after.startswith("/") and " " not in before:
        return f"{mask.word(before)}={_masked_path(mask, after)}"
    if after and before.startswith("-"):
        return f"{mask.word(before)}={mask.word(after)}"
    return _masked_path(mask, text) if text.startswith("/") else mask.word(text)


def _masked_path(mask: Mask, text: str) -> str:
    """Mask a text that begins with a slash: a path to its end, unless more is said after it."""
    return mask.word(text) if ":" in text or "\n" in text else mask.path(text)


def _suite(mask: Mask, suite: dict[str, Any], _field: str) -> dict[str, Any]:
    """Mask a suite: one that comes with pyscale has a name and a summary that anybody knows."""
    name = suite["name"]
    shipped = load_suite(name) if name in suite_names() else None
    known = shipped is not None and shipped.summary == suite["summary"]
    told = {
        "name": name if fields.is_plain(name) else mask.name("suite", name),
        "summary": suite["summary"] if known else _MASKED,
    }
    entries = {
        mask.name("entry", entry): _record(mask, step, "")
        for entry, step in suite["stages"].items()
    }
    return _record(mask, suite | {"stages": {}}, "suite") | told | {"stages": entries}


def _stamp(mask: Mask, stamp: dict[str, Any], _field: str) -> dict[str, Any]:
    """Mask a stamp: what hardware and systems are called is kept."""
    return {
        key: _masked(mask, item, key) if key in fields.OF_A_USER else _hardware(mask, item)
        for key, item in stamp.items()
    }


def _hardware(mask: Mask, value: Any) -> Any:
    if isinstance(value, dict):
        return _stamp(mask, value, "")
    if isinstance(value, list):
        return [_hardware(mask, item) for item in value]
    return mask.text(value) if isinstance(value, str) else value


def _of_user(mask: Mask, value: dict[str, Any], field: str) -> dict[str, Any]:
    """Mask a record whose keys too are a user's own, as images have them."""
    return {mask.word(key): _masked(mask, item, field) for key, item in value.items()}


def _each(masked: _Masker) -> _Masker:
    """Mask each value of a record by the name that it has there."""
    return lambda mask, record, _field: {
        name: masked(mask, value, name) for name, value in record.items()
    }


def _setting(mask: Mask, value: Any, name: str) -> Any:
    if (name == "data" and fields.public_dataset(value)) or (
        name == "site" and value in shipped_names("site")
    ):
        return value
    if name in fields.PATHS_BY_SETTING and isinstance(value, str):
        return mask.path(value)
    if name in {"images", "stages", "grid"}:
        return _parameter(mask, value, name)
    return _masked(mask, value, name)


def _parameter(mask: Mask, value: Any, name: str) -> Any:
    """Mask a parameter: a text with a slash is taken for a path, even if that is relative."""
    if isinstance(value, dict):
        # A key may be an entry of the user's suite.
        return {mask.name("entry", key): _parameter(mask, item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_parameter(mask, item, name) for item in value]
    if isinstance(value, str) and "/" in value and "://" not in value:
        return mask.path(value)
    return _masked(mask, value, name)


def _of_site(mask: Mask, value: Any, field: str) -> Any:
    """Mask what a cluster wants to be told: lines of shell could hold anything."""
    if field == "name":
        return value if value in shipped_names("site") else mask.name("cluster", value)
    if field in fields.FREE_IN_SITES and value is not None:
        return _MASKED if isinstance(value, str) else [_MASKED for _ in value]
    if field == "gpu_option":
        return value if fields.is_plain(value) else f"--{_MASKED}={{count}}"
    if field == "options":
        return [
            f"{name}={_MASKED}" if given else name
            for name, given, _ in (option.partition("=") for option in value)
        ]
    return _masked(mask, value, field)


_OF_FIELDS: dict[str, _Masker] = {
    "suite": _suite,
    "settings": _each(_setting),
    "params": _parameter,
    "grid": _parameter,
    "point": _parameter,
    "site": _each(_of_site),
    "stamp": _stamp,
    "images": _of_user,
    "labels": _of_user,
}
