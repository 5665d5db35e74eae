"""Suites and sites: those that come with pyscale by name, a user's own by the path of its file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pyscale.errors import UserError, problems_told
from pyscale.resources import shipped
from pyscale_stages.contract import Record
from pyscale_stages.wording import did_you_mean

Kind = Literal["suite", "site", "base"]
R = TypeVar("R", bound=Record)


def shipped_names(kind: Kind) -> list[str]:
    """Names of those that come with pyscale."""
    return sorted(path.stem for path in _folder(kind).glob("*.toml"))


def file_of(kind: Kind, name_or_path: str) -> Path:
    """File of a shipped one by name, or of one's own by a path that ends with .toml."""
    path = Path(name_or_path).expanduser()
    if path.suffix == ".toml":
        return path
    names = shipped_names(kind)
    if name_or_path not in names:
        raise UserError(
            f"unknown {kind} {name_or_path!r} (name your own by the path of its .toml): "
            f"{did_you_mean(name_or_path, names)}"
        )
    return _folder(kind) / f"{name_or_path}.toml"


def read_toml(kind: Kind, path: Path, model: type[R]) -> R:
    """Read and validate one."""
    shipped = shipped_names(kind)
    others = f", or one of {', '.join(shipped)}" if shipped else ""
    told = told_by(kind, path, f"no {kind} file {path}: name its path{others}")
    with problems_told(model, f"the {kind} {path} is wrong: "):
        return model.model_validate(told)


def told_by(kind: str, path: Path, absent: str | None = None) -> dict[str, Any]:
    """Read the TOML of one, or say why it cannot be; `absent` is said where there is no file."""
    try:
        return parsed(path.read_text(encoding="utf-8"))
    except OSError as error:
        refused = f"the {kind} {path} cannot be read: {error.strerror}"
        is_absent = absent is not None and isinstance(error, FileNotFoundError)
        raise UserError(absent if is_absent else refused) from error
    except UnicodeDecodeError as error:
        raise UserError(f"the {kind} {path} is not TOML: it is not text in UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"the {kind} {path} is not TOML: {error}") from error


def parsed(text: str) -> dict[str, Any]:
    """Parse TOML; a TOMLDecodeError says what is wrong, also where the parser itself gives up."""
    try:
        return tomllib.loads(text)
    except (RecursionError, ValueError) as error:
        # A number of thousands of digits is no decoding error for Python.
        raise tomllib.TOMLDecodeError(str(error)) from None


def written(value: bool | float | str | Sequence[str]) -> str:
    """Write a value as TOML, which is JSON but for one letter and for numbers that are none."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bool | int):
        return json.dumps(value)
    return f"[{', '.join(map(written, value))}]"


def _folder(kind: Kind) -> Path:
    return shipped("config") / f"{kind}s"
