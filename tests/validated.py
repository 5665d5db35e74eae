"""Expected results of two made-up stages, trials that gave them, and what is found of both."""

from __future__ import annotations

from typing import Any

from pyscale.validation.expected import Expected
from pyscale.validation.findings import ValidationFindings
from pyscale.validation.judging import MeasuredEntry, MeasuredTrial, judged

SAME, OTHER = "a" * 64, "b" * 64
FED_BY = {"segment": ("movie",), "track": ("segment",)}


def expected_of_two() -> Expected:
    """Two stages, of which the second reads the output of the first."""
    stage = {
        "params": {"model": "tiny"},
        "free": ["calls"],
        "outputs": {"out.tif": SAME},
        "measures": {
            "ap": {"value": 0.9, "tolerance": 0.01, "because": "cells round"},
            "objects": {"value": 100, "tolerance": 1, "because": "one cell in a hundred"},
        },
    }
    return Expected.model_validate(
        {
            "reference": {"machine": "a machine", "system": "a system", "software": "numpy 2.0.2"},
            "dataset": "validation-cells",
            "frames": 8,
            "seed": 0,
            "inputs": {"movie.ome.tif": SAME},
            "stages": {"segment": stage, "track": stage},
        }
    )


def trial(
    workers: int = 1, sha256: str = SAME, *, same: bool = True, **measures: float
) -> MeasuredTrial:
    """One complete trial that gave what is expected, but for what is said."""
    return MeasuredTrial(workers, {"out.tif": sha256}, {"ap": 0.9, "objects": 100} | measures, same)


def gave(**entries: Any) -> dict[str, MeasuredEntry]:
    """What both stages gave: what is expected, but for the trials that are given."""
    found = {"segment": [trial()], "track": [trial()]} | entries
    return {name: MeasuredEntry(trials, "") for name, trials in found.items()}


def found_of(why_unfit: str = "", **entries: Any) -> ValidationFindings:
    """Judge what both stages gave."""
    return judged(expected_of_two(), gave(**entries), FED_BY, why_unfit)
