"""Synthetic movies and slides as datasets: made by options, known by name, verified."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyscale.console import bar, talk
from pyscale.data import verify
from pyscale.data.registry import (
    NAME_PATTERN,
    READS,
    MadeKind,
    MadeParams,
    Registry,
    made_by,
)
from pyscale.errors import UserError, problems_told
from pyscale_stages.errors import BadInput
from pyscale_stages.slides.synthetic import SlidesParams
from pyscale_stages.synth.drifted import DriftedParams
from pyscale_stages.synth.params import SynthParams
from pyscale_stages.wording import plural

FEWEST_CELLS = 3
"""Cells of each type that even the smallest field gets where their number is not given."""


def make_synthetic(
    name: str,
    registry: Registry,
    data_root: Path,
    params: dict[str, Any],
    *,
    kind: MadeKind = "movie",
) -> Path:
    """Write a synthetic movie with its truth, or slides, under the data folder; return its path."""
    if not re.match(NAME_PATTERN, name):
        raise UserError(
            f"invalid dataset name {name!r}: use small letters, digits, dots, - and _, as in "
            "dense-cells"
        )
    if name in registry.datasets:
        raise UserError(
            f"the name {name} belongs to a dataset that can be fetched: choose another name"
        )
    make_dataset(name, _validated(kind, params), data_root)
    return data_root / name / READS[kind]


def make_dataset(name: str, params: MadeParams, data_root: Path) -> None:
    """Make synthetic data that appear whole or not at all, unless they are there and unchanged."""
    folder = data_root / name
    made_before = made_by(folder) == params and verify.read_contents(folder) is not None
    try:
        with verify.data_errors_explained(data_root):
            _make(folder, params)
            if not made_before:
                verify.record_contents(folder, None)
    except BadInput as error:
        raise UserError(str(error)) from error
    if not made_before:
        talk(f"{name}: made {_amount(params)} in {folder}")
        return
    states = verify.verify_dataset(name, None, data_root)
    changed = [f"{found.file} is {found.state}" for found in states if found.state != "ok"]
    if changed:
        raise UserError(
            f"{folder} changed on disk after being made ({', '.join(changed)}): remove this "
            "folder, or choose another name"
        )
    talk(f"{name}: {plural(len(states), 'file')} in {folder}, unchanged")


def _make(folder: Path, params: MadeParams) -> None:
    doing = f"make {folder.name}"
    if isinstance(params, SlidesParams):
        from pyscale_stages.slides.synthetic import write_slides

        with bar(doing, params.uncompressed_bytes) as advance:
            write_slides(folder, params, advance)
    elif isinstance(params, DriftedParams):
        from pyscale_stages.synth.drifted import write_drifted_movie

        with bar(doing, params.frames) as advance:
            source = folder.parent / params.source
            write_drifted_movie(folder, params, source, lambda _made, _of: advance(1))
    else:
        from pyscale_stages.synth.movie import write_synthetic_movie

        # A pixel has two bytes.
        frame_bytes = 2 * params.height_px * params.width_px * params.cell_types
        with bar(doing, frame_bytes * params.frames) as advance:
            write_synthetic_movie(folder, params, lambda _made, _of: advance(frame_bytes))


def _amount(params: MadeParams) -> str:
    if isinstance(params, SlidesParams):
        return plural(params.slides, "slide")
    return f"{plural(params.frames, 'frame')} with their truth"


def _validated(kind: MadeKind, params: dict[str, Any]) -> SynthParams | SlidesParams:
    model, what = (SynthParams, "a movie") if kind == "movie" else (SlidesParams, "slides")
    with problems_told(model, f"{what} cannot be made of these parameters: "):
        if model is SynthParams and "cells" not in params:
            cells = _typical_cells(SynthParams.model_validate({**params, "cells": 1}))
            params = {**params, "cells": cells}
        return model.model_validate(params)


def _typical_cells(params: SynthParams) -> int:
    """Cells that cover the same share of this field as the default number of the default one."""
    typical = SynthParams()
    field, typical_field = (
        each.height_px * each.width_px / each.radius_px**2 for each in (params, typical)
    )
    return max(FEWEST_CELLS, round(typical.cells * field / typical_field))


def params_given(
    options: dict[str, Any], size: str | None, pairs: Sequence[str]
) -> tuple[MadeKind, dict[str, Any]]:
    """Kind of data that is asked for, and the parameters that were given."""
    given = {name: value for name, value in options.items() if value is not None}
    kind: MadeKind = "slides" if "slides" in given else "movie"
    # One type of cells is a movie of one channel, which every stage takes.
    usual = {"cell_types": 1} if kind == "movie" else {}
    return kind, usual | given | _size(size) | _pairs(pairs)


def _size(size: str | None) -> dict[str, int]:
    if size is None:
        return {}
    sides = re.fullmatch(r"(\d+)(?:x(\d+))?", size)
    if sides is None:
        raise UserError(f"invalid --size {size}: give pixels, as in 512 or 512x640")
    return {"height_px": int(sides[1]), "width_px": int(sides[2] or sides[1])}


def _pairs(parameters: Sequence[str]) -> dict[str, Any]:
    pairs = [parameter.partition("=") for parameter in parameters]
    for key, equals, value in pairs:
        if not (key and equals and value):
            raise UserError(
                f"invalid --set {key}{equals}{value}: give KEY=VALUE, as in radius_px=8"
            )
    return {key: value for key, _, value in pairs}
