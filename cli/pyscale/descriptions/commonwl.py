"""CWL: the `CommandLineTool` of one program."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyscale.descriptions.described import Described, literal, scalar
from pyscale.errors import UserError

TOOL = "CommandLineTool"
FILES = {"File", "Directory"}
EXPRESSION = re.compile(r"\$\((?:inputs\.(\w+)(?:\.path)?|runtime\.(cores|outdir))\)")
"""What of CWL's expressions is a placeholder of a step."""
KNOWN_NEEDS = {"DockerRequirement", "ResourceRequirement", "InlineJavascriptRequirement"}


@dataclass(frozen=True)
class _Input:
    """An input, with its type without the sign of what may be absent."""

    name: str
    type: str
    optional: bool
    default: object
    binding: Mapping[str, Any] | None


def read_cwl(given: Mapping[str, Any], name: str) -> Described:
    """Read a tool's base command, arguments, inputs and outputs."""
    kind = given.get("class")
    if kind != TOOL:
        found = f"of class {kind}" if kind else "a packed document"
        raise UserError(f"CWL: this is {found}: import each {TOOL} of it by itself")
    tool = Described(str(given.get("id") or given.get("label") or name).removeprefix("#"))
    tool.summary = str(given.get("label") or given.get("doc") or "")
    _take_needs(tool, given)
    inputs = [_input(one, told) for one, told in _by_name(given.get("inputs"), "inputs")]
    data = next((one for one in inputs if one.type in FILES and one.default is None), None)
    if data is None:
        raise UserError(
            "CWL: no input is a File or Directory without a default, so no data: add it"
        )
    tool.split = "files" if data.type == "File" else "threads"
    outputs = [told for _, told in _by_name(given.get("outputs"), "outputs")]
    place, before, after = _place(given, inputs, outputs, tool.split)
    stands_for = {data.name: tool.data} | place
    base = given.get("baseCommand")
    start = [base] if isinstance(base, str) else base or []
    if not isinstance(start, list) or not (start or given.get("arguments")):
        raise UserError("CWL: baseCommand is missing, so there is nothing to run")
    bound = sorted(_bound(tool, given, inputs, stands_for), key=lambda pair: pair[0])
    words = [*map(literal, start), *(word for _, own in bound for word in own)]
    tool.words = words
    if before or after:
        tool.shell = True
        tool.words = [f"{before}{' '.join(map(_quoted, words))}{after}"]
    return tool


def _place(
    given: Mapping[str, Any], inputs: list[_Input], outputs: list[Mapping[str, Any]], split: str
) -> tuple[dict[str, str], str, str]:
    """How what a tool writes comes to lie in the output of the step.

    Returns: what stands for the input that names it, and what a shell needs before and after.
    """
    own = "{output}/{name}" if split == "files" else "{output}/out"
    for told in outputs:
        binding = told.get("outputBinding")
        glob = binding.get("glob") if isinstance(binding, dict) else None
        named = EXPRESSION.fullmatch(glob) if isinstance(glob, str) else None
        one = next((one for one in inputs if named and one.name == named[1]), None)
        if one is not None:
            suffix = Path(str(one.default)).suffix if one.default else ""
            return {one.name: own + suffix}, "", ""
    if any(told.get("type") == "stdout" for told in outputs) or given.get("stdout"):
        return {}, "", f" > {own}{Path(str(given.get('stdout') or '')).suffix}"
    # A CWL runner starts a tool in a new folder, where it finds what the tool writes.
    folder = own if split == "files" else "{output}"
    return {}, f"mkdir -p {folder} && cd {folder} && ", ""


def _bound(
    tool: Described, given: Mapping[str, Any], inputs: list[_Input], stands_for: Mapping[str, str]
) -> Iterator[tuple[tuple[int, int, str], list[str]]]:
    """Words of arguments and inputs, each with its place."""
    by_name = {one.name: one for one in inputs}

    def value(name: str | None, of_runtime: str | None) -> str:
        if of_runtime is not None:
            return {"cores": "{threads}", "outdir": "{output}"}[of_runtime]
        if name not in by_name:
            raise UserError(f"CWL: $(inputs.{name}) names no input: correct it")
        return stands_for.get(name) or tool.param(name, scalar(by_name[name].default))

    def evaluated(text: object) -> str:
        # Every third piece is what lies between two expressions, behind the groups of the first.
        pieces = EXPRESSION.split(str(text))
        if any("$(" in piece or "${" in piece for piece in pieces[::3]):
            raise UserError(f"CWL: {text} must be evaluated by a CWL runner: write its value")
        pieces[::3] = map(literal, pieces[::3])
        found = zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True)
        return pieces[0] + "".join(
            value(name, of_runtime) + rest for name, of_runtime, rest in found
        )

    for number, told in enumerate(given.get("arguments") or []):
        binding: Mapping[str, Any] = told if isinstance(told, dict) else {"valueFrom": told}
        words = [evaluated(binding.get("valueFrom", ""))]
        # A text of one width: the place is compared with those of inputs, which have names.
        yield (_position(binding), 0, f"{number:06d}"), _prefixed(binding, words)
    for one in inputs:
        if one.binding is None:
            if one.name not in stands_for:
                tool.left_out.append(one.name)
            continue
        binding = one.binding
        key = (_position(binding), 1, one.name)
        if "valueFrom" in binding:
            yield key, _prefixed(binding, [evaluated(binding["valueFrom"])])
        elif one.name in stands_for:
            yield key, _prefixed(binding, [stands_for[one.name]])
        elif one.type == "boolean":
            if one.default:
                yield key, _prefixed(binding, [])
            else:
                tool.left_out.append(one.name)
        elif one.default is None and one.optional:
            tool.left_out.append(one.name)
        elif isinstance(one.default, list | dict) or one.type == "array":
            tool.doubts.append(f"{one.name} is of type {one.type}, and is left out")
        else:
            yield key, _prefixed(binding, [tool.param(one.name, scalar(one.default))])


def _prefixed(binding: Mapping[str, Any], words: list[str]) -> list[str]:
    prefix = literal(binding.get("prefix") or "")
    if not prefix:
        return words
    return [prefix + words[0]] if words and binding.get("separate") is False else [prefix, *words]


def _position(binding: Mapping[str, Any]) -> int:
    position = binding.get("position", 0)
    if not isinstance(position, int):
        raise UserError(f"CWL: the position {position} must be evaluated: write a number")
    return position


def _input(name: str, told: Mapping[str, Any]) -> _Input:
    kind, optional = told.get("type"), False
    if isinstance(kind, list):
        optional = "null" in kind
        rest = [one for one in kind if one != "null"]
        kind = rest[0] if len(rest) == 1 else "several"
    if isinstance(kind, dict):
        kind = kind.get("type")
    kind = str(kind)
    if kind.endswith("?"):
        kind, optional = kind[:-1], True
    kind = "array" if kind.endswith("[]") else kind
    binding = told.get("inputBinding")
    default = told.get("default")
    return _Input(name, kind, optional, default, binding if isinstance(binding, dict) else None)


def _by_name(given: object, what: str, by: str = "id") -> list[tuple[str, Mapping[str, Any]]]:
    """What CWL has as a list or by their names; a type may stand alone."""
    if isinstance(given, list):
        named = [(one.get(by), one) if isinstance(one, dict) else (None, one) for one in given]
    elif isinstance(given, dict):
        named = [*given.items()]
    elif given is None:
        return []
    else:
        raise UserError(f"CWL: {what} should be a mapping or a list: correct it")
    if any(not isinstance(name, str) for name, _ in named):
        raise UserError(f"CWL: one of the {what} has no {by}: add it")
    return [
        (
            str(name).rpartition("/")[2].removeprefix("#"),
            one if isinstance(one, dict) else {"type": one},
        )
        for name, one in named
    ]


def _take_needs(tool: Described, given: Mapping[str, Any]) -> None:
    """Take the image from requirements and hints, and name those that have no meaning here."""
    for key in ("requirements", "hints"):
        for kind, need in _by_name(given.get(key), key, by="class"):
            if kind == "DockerRequirement" and need.get("dockerPull"):
                tool.image = str(need["dockerPull"])
            elif kind == "ResourceRequirement":
                tool.doubts.append("what it asks of cores and memory is left out: N says the cores")
            elif kind not in KNOWN_NEEDS:
                tool.doubts.append(f"{kind} of its {key}, which is left out")


def _quoted(word: str) -> str:
    """A word for a shell; what is filled in is quoted then."""
    return word if "{" in word.replace("{{", "") else shlex.quote(word)
