"""What the options of `pyscale data synth` say: the parameters of a movie, or of slides."""

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
    """Kind of data that is asked for, and the parameters that were given.

    Parameters
    ----------
    options : dict
        Parameter -> value of its option, None where it was not given. `slides` is the number of
        slides: with it slides are made, without it a movie.
    size : str or None
        Pixels, or height x width.
    pairs : sequence of str
        Any other parameter as KEY=VALUE.

    Raises
    ------
    UserError
        If an option belongs to the other kind, or a size or pair is not written as one.
    """
    given = {name: value for name, value in options.items() if value is not None}
    kind: MadeKind = "slides" if "slides" in given else "movie"
    refused = MOVIE_ALONE if kind == "slides" else SLIDES_ALONE
    wrong = [option for name, option in refused.items() if name in given]
    named = f"{', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'}"
    if wrong and kind == "slides":
        raise UserError(
            f"{named} of a movie, but --slides makes slides: leave out the one or the other"
        )
    if wrong:
        raise UserError(f"{named} of slides, not of a movie: add --slides NUMBER")
    # One type of cells is a movie of one channel, which every stage takes.
    usual = {"cell_types": 1} if kind == "movie" else {}
    return kind, usual | given | _size(size) | _pairs(pairs)


def _size(size: str | None) -> dict[str, int]:
    if size is None:
        return {}
    sides = re.fullmatch(r"(\d+)(?:x(\d+))?", size)
    if sides is None:
        raise UserError(f"--size {size} is not a size: give pixels, as in 512 or 512x640")
    return {"height_px": int(sides[1]), "width_px": int(sides[2] or sides[1])}


def _pairs(parameters: Sequence[str]) -> dict[str, Any]:
    pairs = [parameter.partition("=") for parameter in parameters]
    for key, equals, value in pairs:
        if not (key and equals and value):
            raise UserError(f"--set {key}{equals}{value} is not KEY=VALUE, as in radius_px=8")
    return {key: value for key, _, value in pairs}
