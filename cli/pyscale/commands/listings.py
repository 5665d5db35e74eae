"""Short answers: suites, runs, settings and this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

from pydantic_core import to_json
from rich import box
from rich.table import Table

from pyscale.console import answer, talk
from pyscale.errors import UserError
from pyscale.planning.suite import load_suite, suite_names
from pyscale.progress.status import StatusReader
from pyscale.settings import USER_FILE, Settings, load_settings, value_origins
from pyscale.store.folder import RunFolder, run_folders
from pyscale.store.journal import Journal
from pyscale_stages.measure import stamp
from pyscale_stages.registry import load_stage


def show_suites() -> None:
    """Print each shipped suite with its summary, and how to use one's own."""
    table = _table("suite", "measures")
    for name in suite_names():
        table.add_row(name, load_suite(name).summary)
    answer(table)
    talk("Stages and parameters of one: pyscale suites NAME")
    talk("A suite of your own: pyscale run PATH.toml")


def show_suite(name: str) -> None:
    """Print the stages of a suite with their parameters, as --set takes them."""
    suite = load_suite(name)
    table = _table("parameter")
    for column in ("value", "meaning"):
        table.add_column(column, overflow="fold")
    for entry, step in suite.stages.items():
        for param, field in load_stage(suite.stage_name(entry)).params.model_fields.items():
            usual = "" if field.is_required() else field.get_default(call_default_factory=True)
            value = to_json(step.params.get(param, usual)).decode()
            if param in step.grid:
                value = ", ".join(to_json(one).decode() for one in step.grid[param])
            table.add_row(f"{entry}.{param}", value, field.description or "")
    answer(f"{suite.name}: {suite.summary}")
    answer(table)
    talk(f"Change one: pyscale run {name} --set STAGE.PARAMETER=VALUE")


def show_runs(*, as_json: bool) -> None:
    """Print every run in the folder of the runs, newest first."""
    folder = load_settings().runs_folder
    rows = [_row(path) for path in reversed(run_folders(folder))]
    if as_json:
        print(to_json(rows, indent=1).decode())  # noqa: T201 - the command's answer
        return
    if not rows:
        talk(f"no runs in {folder}: start one with `pyscale run pipeline`")
        return
    table = _table("run")
    for column in ("suite", "data", "started (UTC)", "state"):
        table.add_column(column, overflow="fold")
    for row in rows:
        started = f"{row['started_utc']:%Y-%m-%d %H:%M}" if row["started_utc"] else ""
        state = row["state"] or "unreadable"
        table.add_row(row["run_id"], row["suite"], row["data"], started, state)
    answer(table)


def _table(*columns: str) -> Table:
    """A table whose first column is copied from, and so never broken."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=column == columns[0])
    return table


def _row(path: Path) -> dict[str, Any]:
    """One run among others: its state is None where its plan cannot be read."""
    row = {"run_id": path.name, "suite": "", "data": "", "started_utc": None, "state": None}
    try:
        run = RunFolder(path)
        events = Journal(run.journal_file).read()
        state = StatusReader(run).state()
    except UserError:
        return row
    return row | {
        "suite": run.plan.suite.name,
        "data": run.plan.measured_for,
        "started_utc": events[0].time_utc if events else None,
        "state": state,
    }


def show_settings(*, as_json: bool) -> None:
    """Print the settings with the layer that each value comes from."""
    values = load_settings().model_dump(mode="json")
    origins = value_origins({})
    rows = {
        key: {"value": value, "from": origins.get(key, "built-in")} for key, value in values.items()
    }
    if as_json:
        print(json.dumps(rows, indent=1))  # noqa: T201 - the command's answer
        return
    table = Table("setting", "value", "from", "meaning")
    for key, row in rows.items():
        meaning = Settings.model_fields[key].description or ""
        table.add_row(key, json.dumps(row["value"]), row["from"], meaning)
    answer(table)


def write_settings() -> None:
    """Write every setting into the user's file, each as a comment with its meaning and default."""
    lines = ["# Settings of pyscale in this folder: take away the # before those to change."]
    tables: list[str] = []
    for name, field in Settings.model_fields.items():
        means = [f"# {line}" for line in wrap(field.description or "", 96)]
        if field.examples:
            tables += ["", *means, *_table_like(name, field.examples[0])]
            continue
        value = "" if field.default is None else json.dumps(field.default, default=str)
        lines += ["", *means, f"# {name} = {value}".rstrip()]
    try:
        with Path(USER_FILE).open("x", encoding="utf-8") as file:
            file.write("\n".join([*lines, *tables, ""]))
    except FileExistsError as error:
        raise UserError(f"{USER_FILE} is there already: move it away to get a new one") from error
    talk(f"wrote {USER_FILE}: every setting with its default, as a comment")


def _table_like(name: str, example: dict[str, Any]) -> Iterator[str]:
    """Comments with a table of TOML, as one may fill it."""
    for key, value in example.items():
        if isinstance(value, dict):
            yield from _table_like(f"{name}.{key}", value)
            return
    yield f"# [{name}]"
    yield from (f"# {key} = {json.dumps(value)}" for key, value in example.items())


def show_hardware(*, as_json: bool) -> None:
    """Print the stamp of this machine and of the working folder's filesystem."""
    found = stamp.collect([Path.cwd()])
    if as_json:
        print(json.dumps(found, indent=1))  # noqa: T201 - the command's answer
        return
    table = Table("what", "value")
    for key, value in found.items():
        table.add_row(key, _readable(value))
    answer(table)


def _readable(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_readable(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(_readable(item) for item in value)
    return "" if value is None else str(value)
