"""Datasets shown to a person or a script: what there is, and what verification found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from rich.filesize import decimal
from rich.table import Table

from pyscale.console import answer, talk
from pyscale.data.registry import MadeKind, Registry
from pyscale.data.verify import (
    FileState,
    dataset_path,
    presence,
    synthetic_kinds,
    verify_dataset,
)
from pyscale.errors import UserError
from pyscale_stages.wording import did_you_mean, plural

OWN_TITLES: dict[MadeKind, str] = {
    "movie": "A synthetic movie with its truth",
    "slides": "Synthetic slides",
}


def show(registry: Registry, data_root: Path, *, as_json: bool) -> None:
    """Print all datasets."""
    rows = _rows(registry, data_root)
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("dataset", "kind", "state", "size", "licence", "content", box=None)
    for row in rows:
        size = "?" if row["size_bytes"] is None else decimal(row["size_bytes"])
        cells = (row["name"], row["kind"], row["state"], size, row["licence"], row["title"])
        table.add_row(*cells)
    answer(table)


def show_verified(
    registry: Registry, data_root: Path, names: Sequence[str], *, as_json: bool
) -> bool:
    """Verify datasets, print what became of each, and say whether all is well."""
    datasets, synthetic = registry.datasets, synthetic_kinds(registry, data_root)
    fetched = [name for name in datasets if presence(name, datasets[name], data_root) != "absent"]
    known = [*datasets, *synthetic]
    states = []
    for name in names or [*fetched, *synthetic]:
        if name not in known:
            raise UserError(f"unknown dataset {name!r}: {did_you_mean(name, known)}")
        states += verify_dataset(name, datasets.get(name), data_root)
    if as_json:
        typer.echo(json.dumps([state.model_dump() for state in states], indent=2))
    else:
        _print_states(states, data_root)
    return all(state.state == "ok" for state in states)


def _rows(registry: Registry, data_root: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def add(name: str, kind: str, state: str, size_bytes: int | None, **words: str) -> None:
        path = dataset_path(name, registry, data_root)
        told = {"name": name, "kind": kind, "state": state, "size_bytes": size_bytes, **words}
        rows.append(told | {"path": None if path is None else str(path)})

    for name, dataset in registry.datasets.items():
        state = presence(name, dataset, data_root)
        made = dataset.made is not None and state == "here"
        size_bytes = _size_bytes(data_root / name) if made else dataset.size_bytes
        add(name, dataset.kind, state, size_bytes, licence=dataset.licence, title=dataset.title)
    for name, kind in synthetic_kinds(registry, data_root).items():
        size_bytes = _size_bytes(data_root / name)
        add(name, kind, "here", size_bytes, licence="yours", title=OWN_TITLES[kind])
    return rows


def _size_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _print_states(states: Sequence[FileState], data_root: Path) -> None:
    """Show each file that is not well, and a count for each dataset."""
    if not states:
        talk(f"nothing to verify in {data_root}")
        return
    table = Table("dataset", "file", "state", box=None)
    for name in dict.fromkeys(state.dataset for state in states):
        own = [state for state in states if state.dataset == name]
        for state in own:
            if state.state != "ok":
                table.add_row(name, state.file, state.state)
        n_ok = Counter(state.state for state in own)["ok"]
        table.add_row(name, f"{n_ok} of {plural(len(own), 'file')}", "ok")
    answer(table)
