"""`pyscale stage import`: reads a description, whichever it is, and writes a suite."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from pyscale.console import talk
from pyscale.descriptions.bilayers import read_bilayers
from pyscale.descriptions.commonwl import read_cwl
from pyscale.descriptions.cytomine import read_cytomine
from pyscale.descriptions.described import Described, sentences, suite_text
from pyscale.errors import UserError
from pyscale_stages.atomic import write_atomically

MOST_BYTES = 1 << 18
"""No description of a tool is larger."""
MOST_BRACKETS = 5000
"""No description in YAML has more."""


def import_stage(path: Path, output: Path | None) -> None:
    """Print a suite of one step, or write it, and say what was understood."""
    if output is not None and output.exists():
        raise UserError(f"{output} is there already: remove it, or name another --output")
    tool, kind = _read(path)
    text = suite_text(tool)
    for sentence in sentences(tool, kind):
        talk(sentence)
    if output is None:
        sys.stdout.write(text)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(output, text)
    talk(f"suite: {output}; see `pyscale run {output} --data PATH --dry-run`")


def _read(path: Path) -> tuple[Described, str]:
    given = _loaded(path)
    try:
        if "cwlVersion" in given or given.get("class") == "CommandLineTool":
            return read_cwl(given, path.stem), "CWL"
        if "exec_function" in given:
            return read_bilayers(given), "Bilayers"
        if "command-line" in given or given.get("schema-version") == "cytomine-0.1":
            return read_cytomine(given), "Cytomine or BIAFLOWS"
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    raise UserError(
        f"{path} is no description that is known: name the config.yaml of Bilayers, the "
        "descriptor.json of BIAFLOWS or Cytomine, or a CommandLineTool of CWL"
    )


def _parsed(text: str) -> Any:
    """What JSON, or YAML without aliases or objects, says."""
    # As YAML, letters that JSON writes in two parts would stay apart.
    with suppress(json.JSONDecodeError):
        return json.loads(text)
    if text.count("{") + text.count("[") > MOST_BRACKETS:
        # Time to read those within each other grows with the square of their number.
        raise ValueError(f"it has more than {MOST_BRACKETS} brackets")
    if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
        # A few lines of them can stand for more than memory holds.
        raise ValueError("it has an alias (*name), so write out what that stands for")
    return yaml.safe_load(text)


def _loaded(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise UserError(
                f"{path} has more than {MOST_BYTES} bytes: name a description of a tool"
            )
        given = _parsed(content.decode("utf-8-sig"))
        # Half of a letter, which both can write, can be in no file.
        json.dumps(given, ensure_ascii=False, default=str, skipkeys=True).encode()
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): name a file") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text: name a YAML or JSON file") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UserError(f"{path} is not plain YAML: {' '.join(said.split())}") from None
    if not isinstance(given, dict):
        raise UserError(f"{path} holds no mapping of keys: name a description of a tool")
    return {str(key): value for key, value in given.items()}
