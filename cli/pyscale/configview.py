"""`pyscale config show`: every setting, its value and its origin."""

from __future__ import annotations

import json

from rich.table import Table

from pyscale.console import answer
from pyscale.settings import Settings, load_settings, value_origins


def show(*, as_json: bool) -> None:
    """Print the settings with the layer that each value comes from."""
    values = load_settings().model_dump(mode="json")
    origins = value_origins({})
    if as_json:
        rows = {
            key: {"value": value, "from": origins.get(key, "built-in")}
            for key, value in values.items()
        }
        print(json.dumps(rows, indent=1))  # noqa: T201 - the command's answer
        return
    table = Table()
    for column in ("setting", "value", "from", "meaning"):
        table.add_column(column)
    for key, field in Settings.model_fields.items():
        table.add_row(
            key, json.dumps(values[key]), origins.get(key, "built-in"), field.description or ""
        )
    answer(table)
