"""Cytomine and BIAFLOWS: the `descriptor.json` of a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyscale.descriptions.described import Described, literal, scalar, split_words, values

CONVENTION = ("--infolder", "{input}", "--outfolder", "{output}", "--local", "-nmc")
"""How workflows of BIAFLOWS run outside of its server; no descriptor says so."""
RUNSCRIPT = "/.singularity.d/runscript"
"""Where an Apptainer image has the command that it starts by itself."""
OF_SERVER = "cytomine_"
FILES = {"image", "file"}


def read_cytomine(given: Mapping[str, Any]) -> Described:
    """Read the command line of a descriptor, and what it says of its value keys."""
    container = given.get("container-image")
    image = container.get("image") if isinstance(container, dict) else None
    tool = Described(
        name=str(given.get("name") or "tool"),
        summary=str(given.get("description") or ""),
        image=str(image) if image else None,
    )
    line = split_words(given.get("command-line"), "command-line")
    inputs = values(given, "inputs", "descriptor")
    replaced = {_filled(one.get("value-key", "[@ID]"), one): one for one in inputs}
    outputs = {_filled(one.get("value-key"), one) for one in values(given, "outputs", "descriptor")}
    data = next((one for one in inputs if str(one.get("type")).lower() in FILES), None)
    if data is not None:
        tool.split = "files"
    of_server: list[str] = []
    words: list[str] = []
    for word in line:
        one = replaced.get(word)
        if one is not None:
            words += _words_of(tool, one, of_server, is_data=one is data)
        elif word in outputs:
            words.append("{output}")
        else:
            words.append(literal(word))
    if line[0] in replaced:
        words.insert(0, RUNSCRIPT)
        tool.doubts.append(f"its command line names no program, so that of its image: {RUNSCRIPT}")
    if of_server:
        tool.doubts.append(f"what its server sets is left out: {', '.join(of_server)}")
    if data is None and "{output}" not in words:
        words += CONVENTION
        tool.doubts.append(
            "where it reads and writes, so the words of BIAFLOWS without its server were added: "
            + " ".join(CONVENTION)
        )
    tool.words = words
    return tool


def _words_of(
    tool: Described, one: Mapping[str, Any], of_server: list[str], *, is_data: bool
) -> list[str]:
    """Words that stand for the value key of an input."""
    name, default = str(one.get("id")), scalar(one.get("default-value"))
    if one.get("set-by-server") or name.startswith(OF_SERVER):
        of_server.append(name)
        return []
    if not is_data and default is None and one.get("optional"):
        tool.left_out.append(name)
        return []
    flag = _filled(one.get("command-line-flag"), one)
    value = tool.data if is_data else tool.param(name, default)
    separator = str(one.get("command-line-flag-separator") or " ")
    if not flag:
        return [value]
    return [literal(flag), value] if separator == " " else [literal(flag + separator) + value]


def _filled(template: object, one: Mapping[str, Any]) -> str:
    """A template with the id of an input, as in `--@id` and `[@ID]`."""
    name = str(one.get("id"))
    return str(template or "").replace("@id", name).replace("@ID", name.upper())
