"""Synthetic movies as datasets: made by parameters, known by name, verified like any other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pyscale.data.contents import survey, write_contents
from pyscale.data.disk import disk_errors_explained
from pyscale.data.place import SYNTH_MOVIE
from pyscale.data.progress import Report
from pyscale.data.registry import NAME_PATTERN, Registry
from pyscale.errors import UserError
from pyscale_stages.errors import BadInput
from pyscale_stages.synth.movie import write_synthetic_movie
from pyscale_stages.synth.params import SynthParams
from pyscale_stages.wording import first_problem


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
        Fields of `SynthParams`.
    report : Report

    Raises
    ------
    UserError
        If the name is taken or no name, a parameter is wrong, or the disk refuses.
    """
    if not re.match(NAME_PATTERN, name):
        raise UserError(
            f"{name!r} cannot name a dataset: use small letters, digits, dots, - and _, "
            "as in dense-cells"
        )
    if name in registry.datasets:
        raise UserError(f"{name} names a dataset that can be fetched: choose another name")
    try:
        parameters = SynthParams.model_validate(params)
    except ValidationError as error:
        raise UserError(f"no movie can be made so: {first_problem(error, SynthParams)}") from error
    folder = data_root / name
    try:
        with disk_errors_explained(data_root), report.bar(f"make {name}", None) as advance:
            write_synthetic_movie(folder, parameters)
            write_contents(folder, survey(folder, advance))
    except BadInput as error:
        raise UserError(str(error)) from error
    return folder / SYNTH_MOVIE
