"""Bilayers: the `config.yaml` of an algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyscale.descriptions.described import Described, literal, scalar, split_words, values
from pyscale.errors import UserError


def read_bilayers(given: Mapping[str, Any]) -> Described:
    """Read what an algorithm's `exec_function`, inputs, outputs and parameters say."""
    function = given.get("exec_function")
    function = function if isinstance(function, dict) else {}
    citations = values(given, "citations", "Bilayers")
    tool = Described(
        name=str(given.get("algorithm_folder_name") or "tool"),
        summary=str(citations[0].get("description") or "") if citations else "",
        image=_image(given.get("docker_image")),
    )
    start = split_words(function.get("cli_command"), "exec_function.cli_command")
    inputs = values(given, "inputs", "Bilayers")
    needed = [one for one in inputs if not one.get("optional")] or inputs
    data = next((one for one in needed if one.get("type") == "image"), None) or next(
        iter(needed), None
    )
    if data is None or _tag(data) is None:
        raise UserError("Bilayers: no input has a cli_tag, so nothing can name the data: add it")
    if data.get("file_count") == "single" and data.get("default") != "directory":
        tool.split = "files"
    found = [(data, [literal(_tag(data)), tool.data])]
    found += [(one, _words_of(tool, one)) for one in inputs if one is not data]
    outputs = [one for one in values(given, "outputs", "Bilayers") if _tag(one) is not None]
    parameters = values(given, "parameters", "Bilayers")
    places = [one for one in parameters if one.get("output_dir_set")] or outputs
    if not places:
        raise UserError(
            "Bilayers: neither a parameter with output_dir_set nor an output with a cli_tag names "
            "where it writes, so no step can be made of it"
        )
    found += [(one, [literal(_tag(one)), "{output}"]) for one in places if _tag(one)]
    found += [(one, _words_of(tool, one)) for one in parameters if one not in places]
    for one in values(function, "hidden_args", "Bilayers exec_function"):
        value = [] if one.get("append_value") is False else [literal(one.get("value"))]
        found.append((one, [literal(one.get("cli_tag")), *value]))
    if given.get("display_only"):
        tool.doubts.append("display_only is for an interface, and is left out")
    # What has no place on the command line keeps that of the file.
    found.sort(
        key=lambda pair: pair[0]["cli_order"] if isinstance(pair[0].get("cli_order"), int) else 0
    )
    tool.words = [*map(literal, start), *(word for _, words in found for word in words)]
    return tool


def _words_of(tool: Described, one: Mapping[str, Any]) -> list[str]:
    """Words that an input or parameter adds to the command line."""
    name, tag = str(one.get("name")), _tag(one)
    default = scalar(one.get("default"))
    if tag is None:
        tool.doubts.append(f"{name} has no cli_tag, and is left out")
        return []
    if one.get("multiselect"):
        tool.doubts.append(f"{name} takes several values, and is left out")
        return []
    if one.get("type") == "checkbox":
        if one.get("append_value"):
            return [literal(tag), tool.param(name, bool(default))]
        if str(default).lower() == "true":
            return [literal(tag)]
        tool.left_out.append(name)
        return []
    # Of an input the default says whether it is a file or a folder.
    is_input = "file_count" in one or "folder_name" in one
    if one.get("optional") and (is_input or default is None):
        tool.left_out.append(name)
        return []
    for option in values(one, "options", f"Bilayers {name}"):
        if default is not None and option.get("label") == default:
            default = scalar(option.get("value"))
    return [literal(tag), tool.param(name, None if is_input else default)]


def _tag(one: Mapping[str, Any]) -> str | None:
    tag = one.get("cli_tag")
    return None if str(tag) in {"", "None"} else str(tag)


def _image(given: object) -> str | None:
    if not isinstance(given, dict) or not given.get("name"):
        return None
    parts = [str(given[key]) for key in ("org", "name") if given.get(key)]
    return "/".join(parts) + (f":{given['tag']}" if given.get("tag") else "")
