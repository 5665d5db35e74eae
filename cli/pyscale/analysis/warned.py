"""Warnings of the stages: summed over the windows of a trial, and the worst by code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import polars as pl
from pydantic import Field

from pyscale_stages.contract import Record
from pyscale_stages.measured import Warned


class CodeWarning(Record):
    """The warnings of several trials under one code."""

    worst: Warned = Field(description="That of the trial in which it concerned most")
    others: int = Field(0, description="Other sentences under the same code")

    @property
    def code(self) -> str:
        """Its code with the counts, where it counts."""
        worst = self.worst
        counts = "" if worst.concerned is None else f"={worst.concerned}/{worst.seen}"
        return f"{worst.code}{counts}"


def of_tasks(tasks: pl.DataFrame) -> pl.DataFrame:
    """Add up the warnings of each trial's tasks by code; sentences without counts stay."""
    told = tasks.filter(pl.col("warned").fill_null("[]") != "[]")
    said: dict[str, list[dict[str, Any]]] = {}
    # A merge may say of the whole what windows say of their parts: that is one count, not two.
    for (trial, _), own in told.group_by("trial", "verb", maintain_order=True):
        summed = _added_up(one for text in own["warned"] for one in _read(text))
        said.setdefault(str(trial), []).extend(one.model_dump() for one in summed if one.is_said)
    rows = [(trial, json.dumps(found)) for trial, found in said.items() if found]
    return pl.DataFrame(rows, {"trial": pl.String, "warned": pl.String}, orient="row")


def of_trials(trials: pl.DataFrame) -> list[CodeWarning]:
    """Of each code the warning that concerns most; those that doubt the result come first."""
    by_code: dict[str, list[Warned]] = {}
    for text in trials["warned"].drop_nulls():
        for one in _read(text):
            by_code.setdefault(one.code, []).append(one)
    found = [
        CodeWarning(worst=max(own, key=_share), others=len({one.text for one in own}) - 1)
        for own in by_code.values()
    ]
    return sorted(found, key=lambda one: not one.worst.doubts_result)


def codes(trials: pl.DataFrame) -> dict[str, Any]:
    """Columns of `configurations`: codes with counts, and whether the result may be wrong."""
    found = of_trials(trials)
    return {
        "warnings": [one.code for one in found],
        "result_doubted": any(one.worst.doubts_result for one in found),
    }


def _read(text: str) -> list[Warned]:
    return [Warned.model_validate(one) for one in json.loads(text)]


def _added_up(warnings: Iterable[Warned]) -> list[Warned]:
    found: dict[tuple[str, str | None], Warned] = {}
    for warning in warnings:
        counts = warning.concerned is not None
        key = (warning.code, None if counts else warning.text)
        found[key] = found[key] + warning if counts and key in found else warning
    return list(found.values())


def _share(warning: Warned) -> float:
    return (warning.concerned or 0) / max(warning.seen, 1)
