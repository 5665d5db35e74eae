"""What a description says of a tool, in the words of a step, and the suite made of it."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from pyscale.errors import UserError, problems_told
from pyscale.planning.suite import OF_STEPS, Suite
from pyscale.report.wording import listing
from pyscale.tomlfile import written
from pyscale_stages.command.params import CommandParams

OUTPUT = "output"
"""Folder that a tool writes to."""


@dataclass
class Described:
    """A tool, with a sentence on each thing that was not taken from its description."""

    name: str
    summary: str = ""
    split: Literal["files", "threads"] = "threads"
    """Whether it is called for each file, or once for a whole folder."""
    image: str | None = None
    """As a registry names it."""
    shell: bool = False
    words: list[str] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)
    unset: list[str] = field(default_factory=list)
    """Parameters that it needs and that have no default."""
    left_out: list[str] = field(default_factory=list)
    """What may be left out, and has no default."""
    doubts: list[str] = field(default_factory=list)

    @property
    def entry(self) -> str:
        """Name of the only entry of its suite."""
        return re.sub(r"\W+", "_", self.name.lower(), flags=re.ASCII).strip("_") or "tool"

    @property
    def data(self) -> str:
        """What stands for its data on its command line."""
        return "{file}" if self.split == "files" else "{input}"

    def param(self, name: str, default: object) -> str:
        """Make a parameter of something on the command line; return what stands for it."""
        key = re.sub(r"\W+", "_", name, flags=re.ASCII)
        if key in CommandParams.model_fields:
            key += "_"
        if default is None:
            self.unset.append(key)
        else:
            self.params[key] = default
        return f"{{params.{key}}}"


def literal(text: object) -> str:
    """A word that is given to the program as it is."""
    return str(text).replace("{", "{{").replace("}", "}}")


def values(given: Mapping[str, Any], key: str, what: str) -> list[Mapping[str, Any]]:
    """Mappings that a description lists under a key; none where it has none."""
    found = given.get(key)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise UserError(f"{what}: {key} should be a list of mappings: correct it")
    return found


def scalar(value: object) -> str | int | float | bool | None:
    """A default that a parameter can have; None where there is none, or several values."""
    if isinstance(value, date):
        return str(value)
    return value if isinstance(value, str | int | float) and value not in {"", "None"} else None


def split_words(text: object, where: str) -> list[str]:
    """Words of a command line."""
    try:
        words = shlex.split(text) if isinstance(text, str) else []
    except ValueError as error:
        raise UserError(f"{where} is not a command line ({error}): correct it") from None
    if not words:
        raise UserError(f"{where} is missing or empty, so there is nothing to run")
    return words


def suite_text(tool: Described) -> str:
    """The suite, as TOML."""
    words = [*map(_in_a_line, tool.words)]
    lines = [
        f"name = {written(tool.entry)}",
        f"summary = {written(_in_a_line(tool.summary or tool.name))}",
        *([f'data = "{tool.split}"'] if tool.split in OF_STEPS else []),
        "",
        f"[stages.{tool.entry}]",
        f"command = {written(words[0] if tool.shell else words)}",
        *(["shell = true"] if tool.shell else []),
        f'split = "{tool.split}"',
        f'output = "{OUTPUT}"',
        *([f"image = {written(_sif(tool.image))}"] if tool.image else []),
    ]
    if tool.params:
        lines += ["", f"[stages.{tool.entry}.params]"]
        lines += [f"{name} = {written(_in_a_line(value))}" for name, value in tool.params.items()]
    text = "\n".join(lines) + "\n"
    with problems_told(CommandParams, f"no step can be made of {tool.name}: "):
        entry = Suite.model_validate(tomllib.loads(text)).stages[tool.entry]
        CommandParams.model_validate({**entry.params, **dict.fromkeys(tool.unset, "")})
    return text


def sentences(tool: Described, kind: str) -> Iterator[str]:
    """Say what was understood, what was not, and what is left to do."""
    called = (
        'called for each file (split = "files")'
        if tool.split == "files"
        else 'called once for all of the data, on N cores (split = "threads")'
    )
    yield f"understood {tool.name} ({kind}): {called}, writing to the folder {OUTPUT}"
    if tool.params:
        yield f"parameters with their defaults: {listing(tool.params)}; change them by --set"
    for name in tool.unset:
        yield f"{name} has no default: set it by --set {tool.entry}.{name}=VALUE"
    if tool.left_out:
        yield f"left out, as optional or off: {listing(tool.left_out)}"
    if tool.image:
        yield f"make its image: apptainer pull {_sif(tool.image)} docker://{tool.image}"
        yield (
            "paths of its command are those in the image; a relative one is looked for in the "
            "suite's folder, so write where it lies in the image"
        )
    for doubt in tool.doubts:
        yield f"not understood: {doubt}"


def _sif(image: str) -> str:
    """Name of the file of an image."""
    return re.sub(r"[^\w.-]+", "_", Path(image).name, flags=re.ASCII) + ".sif"


def _in_a_line(value: Any) -> Any:
    """Join the lines of a text."""
    return " ".join(value.split()) if isinstance(value, str) and "\n" in value else value
