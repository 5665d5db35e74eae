"""Suites and sites: those that come with pyscale by name, a user's own by the path of its file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from pyscale.errors import UserError
from pyscale.shipped import shipped
from pyscale_stages.contract import Record
from pyscale_stages.wording import did_you_mean, first_problem

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
    try:
        return model.model_validate(parsed(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise UserError(f"the {kind} {path} is wrong: {first_problem(error, model)}") from error
    except FileNotFoundError as error:
        shipped = shipped_names(kind)
        others = f", or one of {', '.join(shipped)}" if shipped else ""
        raise UserError(f"no {kind} file {path}: name its path{others}") from error
    except OSError as error:
        raise UserError(f"the {kind} {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"the {kind} {path} is not TOML: it is not text in UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"the {kind} {path} is not TOML: {error}") from error


def parsed(text: str) -> dict[str, Any]:
    """Parse TOML; a TOMLDecodeError says what is wrong, also where the parser itself gives up."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("values are nested too deeply") from None
    except ValueError as error:
        # A number of thousands of digits is no decoding error for Python.
        raise tomllib.TOMLDecodeError(str(error)) from None


def _folder(kind: Kind) -> Path:
    return shipped("config") / f"{kind}s"
