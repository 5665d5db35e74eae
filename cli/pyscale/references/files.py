"""Files of references: a TOML that describes the measurement, and a CSV with the numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from pyscale.analysis.referencemodel import NAME_PATTERN, TEST_TABLE, TESTS, Loaded, Reference
from pyscale.console import talk
from pyscale.errors import UserError, problems_told, refused_by_disk
from pyscale.report.table import read_sizes, read_wall_times
from pyscale.resources import shipped
from pyscale.tomlfile import told_by, written
from pyscale_stages.atomic import write_atomically
from pyscale_stages.wording import did_you_mean

Problem = Callable[[str], object]
"""Is told a sentence on a reference that cannot be used."""


def shipped_folder() -> Path:
    """Folder of the references that come with pyscale."""
    return shipped("config") / "references"


def reference_files(own: Path | None) -> dict[str, Path]:
    """TOML files of all references by name: those that come with pyscale, then the user's."""
    shipped = {path.stem: path for path in sorted(shipped_folder().glob("*.toml"))}
    return shipped | {path.stem: path for path in _own_files(own) if path.stem not in shipped}


def _own_files(own: Path | None) -> list[Path]:
    return sorted(own.glob("*.toml")) if own else []


def load_reference(name: str, own: Path) -> Loaded:
    """Read one reference by its name; raise where there is none, or a file is missing or wrong."""
    files = reference_files(own)
    if name not in files:
        raise UserError(f"unknown reference {name!r}: {did_you_mean(name, files)}")
    return read_reference(files[name])


def refuse_unknown(names: Iterable[str], own: Path) -> None:
    """Refuse names of references that are not there; "none" is one that always is."""
    known = {*reference_files(own), "none"}
    for name in names:
        if name not in known:
            raise UserError(f"unknown reference {name!r}: {did_you_mean(name, known)}")


def all_references(own: Path | None, on_problem: Problem = talk) -> dict[str, Loaded]:
    """Read all references by name, those that come with pyscale first.

    One that cannot be used is told to `on_problem` and left out: what others measured is no reason
    to refuse a report.
    """
    files = reference_files(own)
    for path in _own_files(own):
        if files[path.stem] != path:
            on_problem(
                f"reference left out: {path} has the name of a reference that comes with pyscale: "
                "rename it and its .csv"
            )
    found: dict[str, Loaded] = {}
    for name, path in files.items():
        try:
            found[name] = read_reference(path)
        except UserError as error:
            on_problem(f"reference left out: {error}")
    return found


def read_reference(path: Path) -> Loaded:
    """Read a reference from its TOML and from the CSV beside it."""
    told = told_by("reference", path)
    if "name" in told:
        raise UserError(
            f"the reference {path} is wrong: its file gives it its name, so leave out 'name'"
        )
    with problems_told(Reference, f"the reference {path} is wrong: "):
        reference = Reference.model_validate(told | {"name": path.stem})
    return Loaded(reference, _table(path.with_suffix(".csv"), reference))


def _table(path: Path, reference: Reference) -> pl.DataFrame:
    if not path.is_file():
        raise UserError(
            f"the reference {reference.name} has no numbers: put its table, {path.name}, into "
            f"{path.parent}"
        )
    table = read_wall_times(path) if reference.has_wall_times else _read_as_it_is(path)
    if reference.compares_devices(table):
        table = read_sizes(path)
    if reference.sweep == TESTS:
        table = _checked_tests(table, path)
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
        # Every row tells of the types: a column may begin with whole numbers alone.
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


def _checked_tests(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Check a table of tests, and give each of its columns the type that it must have."""
    for name in (needed := ("test", "wall_s")):
        if name not in table.columns:
            raise UserError(f"{path} has no column {name!r}: a table of tests needs {needed}")
    own = {name: kind for name, kind in TEST_TABLE.items() if name in table.columns}
    try:
        found = table.with_columns(pl.col(name).cast(kind) for name, kind in own.items())
    except PolarsError as error:
        raise UserError(
            f"{path} has a cell that is not a number ({str(error).splitlines()[0]}): write "
            "wall_s and amount as numbers, and repeat, at_once and the like as whole numbers"
        ) from error
    if not found["wall_s"].is_finite().fill_null(value=False).all() or (found["wall_s"] < 0).any():
        raise UserError(f"{path} has an invalid wall_s: write seconds in every row")
    if found["test"].is_null().any():
        raise UserError(f"{path} has a row without a test: name the test of every time")
    return found


def refuse_name(name: str, own: Path) -> None:
    """Raise where no reference can be added under a name: it is none, or is one already."""
    if re.fullmatch(NAME_PATTERN, name) is None:
        raise UserError(
            f"invalid reference name {name!r}: use lower-case letters, digits, - and _, as in "
            "--name our-cluster-2026"
        )
    files = reference_files(own)
    if name in files:
        is_own = files[name].parent == own
        way_out = f", or remove {files[name]} and its .csv" if is_own else ""
        raise UserError(
            f"the reference {name} exists already: choose another name by --name{way_out}"
        )


def write_reference(loaded: Loaded, own: Path) -> Path:
    """Write both files of a reference, and return the one that describes it."""
    path = own / f"{loaded.reference.name}.toml"
    refusal = f"{own} cannot be written ({{why}}): set references_folder to a writable folder"
    with refused_by_disk(refusal):
        own.mkdir(parents=True, exist_ok=True)
        # The table first: a description without its table cannot be read.
        write_atomically(path.with_suffix(".csv"), loaded.table.write_csv())
        write_atomically(path, _toml(loaded))
    return path


def _toml(loaded: Loaded) -> str:
    """Lay a reference out as people write one."""
    told = loaded.reference.model_dump(mode="json", exclude={"name"}, exclude_none=True)
    # Tables come last in TOML, where a key belongs to the head that stands before it.
    tables = {key: told.pop(key) for key in ("hardware", "stages", "steps", "size_ids")}
    told["caveats"] = list(told["caveats"])
    lines = [f"{key} = {_value(value)}" for key, value in told.items()]
    for key, table in tables.items():
        if not table and key not in {"hardware", "stages"}:
            continue
        lines += ["", f"[{key}]"]
        lines += [f"{toml_key(name)} = {_value(value)}" for name, value in table.items()]
    return "\n".join(lines) + "\n"


def toml_key(name: str) -> str:
    """Write a key of TOML, in quotes where it has other signs than names have."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: bool | str | list[str]) -> str:
    """Write a value as TOML, a line for each item of a list."""
    if isinstance(value, list):
        return "[\n" + "".join(f"    {written(one)},\n" for one in value) + "]"
    return written(value)
