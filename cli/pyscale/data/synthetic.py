"""Synthetic movies as datasets: made by parameters, known by name, verified like any other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pyscale.data.contents import read_contents, survey, write_contents
from pyscale.data.disk import disk_errors_explained
from pyscale.data.place import SYNTH_FILE, SYNTH_MOVIE
from pyscale.data.progress import Report
from pyscale.data.registry import NAME_PATTERN, Registry
from pyscale.data.verify import verify_synthetic
from pyscale.errors import UserError
from pyscale_stages.errors import BadInput
from pyscale_stages.synth.movie import write_synthetic_movie
from pyscale_stages.synth.params import SynthParams
from pyscale_stages.wording import first_problem

FEWEST_CELLS = 3
"""Cells of each type that even the smallest field gets where their number is not given."""


def make_synthetic(
    name: str, registry: Registry, data_root: Path, params: dict[str, Any], report: Report
) -> Path:
    """Write a synthetic movie with its truth under the data folder; return the movie's path.

    Parameters
    ----------
    name : str
        Name that it is known by from then on.
    registry : Registry
        Its names are taken.
    data_root : Path
        Folder that holds the datasets.
    params : dict
        Fields of `SynthParams`. Without `cells` the field is as crowded as the default one,
        whatever its size and the radius of the cells.
    report : Report

    Raises
    ------
    UserError
        If the name is taken or no name, a parameter is wrong, the disk refuses, or the movie
        was made before and its files have changed since.
    """
    if not re.match(NAME_PATTERN, name):
        raise UserError(
            f"{name!r} cannot name a dataset: use small letters, digits, dots, - and _, "
            "as in dense-cells"
        )
    if name in registry.datasets:
        raise UserError(f"{name} names a dataset that can be fetched: choose another name")
    parameters = _parameters(params)
    folder = data_root / name
    made_before = (folder / SYNTH_FILE).is_file() and read_contents(folder) is not None
    try:
        with disk_errors_explained(data_root), report.bar(f"make {name}", None) as advance:
            write_synthetic_movie(folder, parameters)
            if not made_before:
                write_contents(folder, survey(folder, advance))
    except BadInput as error:
        raise UserError(str(error)) from error
    if made_before:
        _refuse_changed(name, data_root, report)
    return folder / SYNTH_MOVIE


def _parameters(params: dict[str, Any]) -> SynthParams:
    try:
        if "cells" in params:
            return SynthParams.model_validate(params)
        cells = _typical_cells(SynthParams.model_validate({**params, "cells": 1}))
        return SynthParams.model_validate({**params, "cells": cells})
    except ValidationError as error:
        raise UserError(f"no movie can be made so: {first_problem(error, SynthParams)}") from error


def _typical_cells(params: SynthParams) -> int:
    """Cells that cover the same share of this field as the default number of the default one."""
    typical = SynthParams()
    field, typical_field = (
        each.height_px * each.width_px / each.radius_px**2 for each in (params, typical)
    )
    return max(FEWEST_CELLS, round(typical.cells * field / typical_field))


def _refuse_changed(name: str, data_root: Path, report: Report) -> None:
    for found in verify_synthetic(name, data_root, report):
        if found.state != "ok":
            raise UserError(
                f"the movie in {data_root / name} changed on disk after it was made "
                f"({found.file} is {found.state}): remove this folder, or choose another name"
            )
