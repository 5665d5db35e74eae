"""`pyscale hardware`: the stamp of this machine, as results carry it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.table import Table

from pyscale.console import answer
from pyscale_stages.measure import stamp


def show(*, as_json: bool) -> None:
    """Print the stamp of this machine and of the working folder's filesystem."""
    found = stamp.collect([Path.cwd()])
    if as_json:
        print(json.dumps(found, indent=1))  # noqa: T201 - the command's answer
        return
    table = Table("what", "value", show_lines=False)
    for key, value in found.items():
        table.add_row(key, _readable(value))
    answer(table)


def _readable(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_readable(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(_readable(item) for item in value)
    return "" if value is None else str(value)
