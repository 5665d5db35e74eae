"""The options of `pyscale data synth`: the parameters of a movie or of slides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pyscale.data.made import MadeKind
from pyscale.errors import UserError

MOVIE_ALONE = {
    "frames": "--frames",
    "cells": "--cells",
    "cell_types": "--cell-types",
    "density_profile": "--density",
}
SLIDES_ALONE = {"mpp": "--mpp"}


def params_given(
    options: dict[str, Any], size: str | None, pairs: Sequence[str]
) -> tuple[MadeKind, dict[str, Any]]:
    """Kind of data that is asked for, and the parameters that were given."""
    given = {name: value for name, value in options.items() if value is not None}
    kind: MadeKind = "slides" if "slides" in given else "movie"
    refused = MOVIE_ALONE if kind == "slides" else SLIDES_ALONE
    wrong = [option for name, option in refused.items() if name in given]
    named = f"{', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'}"
    if wrong and kind == "slides":
        raise UserError(
            f"{named} only for movies: leave {'it' if len(wrong) == 1 else 'them'} out, or leave "
            "out --slides"
        )
    if wrong:
        raise UserError(f"{named} only for slides: add --slides NUMBER")
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
