"""Files of references: a TOML that describes the measurement, and a CSV with the numbers."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError
from pydantic import ValidationError

from pyscale.errors import UserError
from pyscale.references.model import Loaded, Reference, compares_devices
from pyscale.references.testtable import checked_tests
from pyscale.report.table import read_sizes, read_wall_times
from pyscale.shipped import shipped
from pyscale.tomlfile import parsed
from pyscale_stages.wording import did_you_mean, first_problem

Problem = Callable[[str], object]
"""Is told a sentence on a reference that cannot be used."""


def shipped_folder() -> Path:
    """Folder of the references that come with pyscale."""
    return shipped("config") / "references"


def reference_files(own: Path | None, on_problem: Problem | None = None) -> dict[str, Path]:
    """TOML files of all references by name: those that come with pyscale, then the user's."""
    found = {path.stem: path for path in sorted(shipped_folder().glob("*.toml"))}
    for path in sorted(own.glob("*.toml")) if own else ():
        if path.stem not in found:
            found[path.stem] = path
            continue
        taken = UserError(
            f"{path} has the name of a reference that comes with pyscale: rename it and its .csv"
        )
        _tell(taken, on_problem)
    return found


def load_reference(name: str, own: Path) -> Loaded:
    """Read one reference by its name; raise where there is none, or a file is missing or wrong."""
    files = reference_files(own)
    if name not in files:
        raise UserError(f"unknown reference {name!r}: {did_you_mean(name, files)}")
    return read_reference(files[name])


def refuse_unknown(names: Iterable[str], own: Path) -> None:
    """Refuse names of references that are not there; "none" is one that always is."""
    known = {*reference_files(own, lambda _problem: None), "none"}
    for name in names:
        if name not in known:
            raise UserError(f"unknown reference {name!r}: {did_you_mean(name, known)}")


def all_references(own: Path | None, on_problem: Problem | None = None) -> dict[str, Loaded]:
    """Read all references by name, those that come with pyscale first.

    One that cannot be used is told to `on_problem` and left out: what others measured is no reason
    to refuse a report. Without `on_problem` the first one raises.
    """
    found: dict[str, Loaded] = {}
    for name, path in reference_files(own, on_problem).items():
        try:
            found[name] = read_reference(path)
        except UserError as error:
            _tell(error, on_problem)
    return found


def _tell(error: UserError, on_problem: Problem | None) -> None:
    if on_problem is None:
        raise error
    on_problem(f"reference left out: {error}")


def read_reference(path: Path) -> Loaded:
    """Read a reference from its TOML and from the CSV beside it."""
    reference = _described(path)
    return Loaded(reference, _table(path.with_suffix(".csv"), reference))


def _described(path: Path) -> Reference:
    try:
        told = parsed(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"the reference {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"the reference {path} is not TOML: it is not text in UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"the reference {path} is not TOML: {error}") from error
    if "name" in told:
        raise UserError(
            f"the reference {path} is wrong: its file gives it its name, so leave out 'name'"
        )
    return validated(told | {"name": path.stem}, path)


def validated(told: Mapping[str, object], path: Path) -> Reference:
    """Check what a TOML tells."""
    try:
        return Reference.model_validate(told)
    except ValidationError as error:
        problem = first_problem(error, Reference)
        raise UserError(f"the reference {path} is wrong: {problem}") from error


def _table(path: Path, reference: Reference) -> pl.DataFrame:
    if not path.is_file():
        raise UserError(
            f"the reference {reference.name} has no numbers: put its table, {path.name}, into "
            f"{path.parent}"
        )
    table = read_wall_times(path) if reference.has_wall_times else _read_as_it_is(path)
    if compares_devices(reference, table):
        table = read_sizes(path)
    if reference.has_tests:
        table = checked_tests(table, path)
    if reference.sweep not in table.columns:
        raise UserError(
            f"{path} has no column {reference.sweep!r}, the sweep of {reference.name}.toml: "
            f"{did_you_mean(reference.sweep, table.columns)}"
        )
    names = set(table["stage"]) if "stage" in table.columns else set()
    for stage in reference.stages:
        if stage not in names:
            known = f": {did_you_mean(stage, names)}" if names else " in a column 'stage'"
            raise UserError(
                f"{path} has no stage {stage!r}, which {reference.name}.toml names{known}"
            )
    return table


def _read_as_it_is(path: Path) -> pl.DataFrame:
    """Read a table of anything: pyscale shows it and computes nothing from it."""
    try:
        table = pl.read_csv(path.read_bytes(), infer_schema_length=None)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): check the file") from error
    except PolarsError as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"{path} is not a CSV table ({reason}): save it as plain UTF-8 text with commas "
            "between the columns"
        ) from error
    if table.is_empty():
        raise UserError(f"{path} has a header and no rows: add one row per number")
    return table
