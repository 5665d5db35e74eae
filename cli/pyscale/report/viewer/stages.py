"""The viewer of wall times: a line for every stage, N and part of the time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from pyscale.analysis.causes import Cause, Limits
from pyscale.analysis.sidebyside import CELL, WHY_NOT
from pyscale.report import limits
from pyscale.report.palette import PARTS
from pyscale.report.viewer.build import SideBySide, viewer_of
from pyscale.report.viewer.model import Layout, Note, Row, Tag, Viewer
from pyscale.wording import INVALID, percent, phase

IDLE = "idle, waiting for the slowest"
WHY_INVALID = (
    "Its output is not the baseline's, or its workers never all ran at once: the report of its run "
    "says which."
)
LAYOUT = Layout(
    id="viewer",
    file="comparison",
    names=CELL,
    told=("repeats", "work", "invalid", "wall_s", "wall_s_low", "wall_s_high", "percent"),
    row="Stage",
    wholes="stages",
    title="Times side by side",
    of_speedups="Speedup is the time of the base over that of a column, so that above 1 is faster; "
    "choose the base in the head of its column.",
    of_percents="The percentage is of the column's sum over stages at this N. A stage opens into "
    "what its time consists of: worker-seconds over N, which sum to the wall time.",
    hardware="Hardware",
    notes="What says so: every likely limit in sentences",
)


def viewer(found: SideBySide) -> Viewer:
    """Shape the tables for the page.

    Sums over stages are left out where no column has a second stage, and parts that took no time
    in any column.
    """
    cells = found.cells(_tags(found))
    names = _names(found.rows)
    rows = []
    for key in _keys(found.rows):
        stage, device, workers, part = key
        curve = names.get((stage, device))
        name = IDLE if part == "idle" else phase(part) if part else curve or "all stages"
        rows.append(
            Row(
                labels=dict(zip(CELL, key, strict=True)),
                group=f"N = {workers}",
                name=name,
                heads=stage is None,
                part=part is not None,
                curve=curve,
                cells=tuple(cells.get((place, *key)) for place in range(len(found.columns))),
            )
        )
    return viewer_of(found, LAYOUT, rows, _notes(found, rows), why_not=WHY_NOT)


Key = tuple[str | None, str | None, int, str | None]


def _keys(times: pl.DataFrame) -> list[Key]:
    """What names the rows of the viewer, in order."""
    order = {part: place for place, part in enumerate((None, *PARTS))}
    several = times["stage"].drop_nulls().n_unique() > 1
    held = (
        times.filter(pl.col("stage").is_not_null() | several)
        .group_by(CELL, maintain_order=True)
        # What lies below the clocks' microsecond took no time.
        .agg(pl.col("wall_s").round(6).ne(0).any(ignore_nulls=True))
    )
    kept = held.filter(pl.col("part").is_null() | pl.col("wall_s")).select(CELL).rows()
    # Backwards, so that the first place of each stage stays.
    stages = {key[:3]: place for place, key in reversed(list(enumerate(kept)))}
    return sorted(kept, key=lambda key: (stages[key[:3]], order[key[3]]))


def _tags(found: SideBySide) -> Any:
    parts: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in found.rows.drop_nulls("part").to_dicts():
        whole = (row["side"], row["stage"], row["device"], row["workers"])
        parts.setdefault(whole, {})[row["part"]] = row["wall_s"]
    limits = {
        (place, own.stage, own.device, own.workers): own
        for place, source in enumerate(found.sources)
        for own in source.limits
    }

    def tag_of(row: Mapping[str, Any]) -> Tag | None:
        if row["part"] is not None or row["stage"] is None:
            return None
        if row["invalid"]:
            return Tag(text=INVALID, why=WHY_INVALID)
        own = limits.get((row["side"], row["stage"], row["own_device"], row["workers"]))
        whole = (row["side"], row["stage"], row["device"], row["workers"])
        return tag(own, parts.get(whole, {}), row["workers"], row["device"])

    return tag_of


def _names(times: pl.DataFrame) -> dict[tuple[str | None, str | None], str]:
    """What to call each stage: with its device only where it ran on several."""
    stages = times.drop_nulls("stage").select("stage", "device").unique(maintain_order=True).rows()
    namesakes = [stage for stage, _ in stages]
    return {
        (stage, device): f"{stage} ({device})" if namesakes.count(stage) > 1 else stage
        for stage, device in stages
    }


def _notes(found: SideBySide, rows: Sequence[Row]) -> Iterator[Note]:
    for row in rows:
        for column, cell in zip(found.columns, row.cells, strict=True):
            if cell is not None and cell.tag is not None:
                yield Note(
                    column=column.id if len(found.columns) > 1 else None,
                    what=f"{row.name} at {row.group}: {cell.tag.text}",
                    why=cell.tag.why,
                    curve=row.curve,
                )


START_UP = ("start-up", "it depends on how fast programs and weights are found and prepared")
DEPENDS = {
    "compute": ("cores", "it depends on the speed of the cores and of memory"),
    "container_start": START_UP,
    "python_start": START_UP,
    "import": START_UP,
    "model_load": START_UP,
    "read": ("reading", "it depends on the storage of the input, and on whether it was cached"),
    "write": ("writing", "it depends on the storage of the output"),
    "merge": ("merging", "it depends on one worker, which joins what all have written"),
    "idle": ("imbalance", "it depends on how evenly the work is shared"),
    "unattributed": ("unattributed", "no phase covers it"),
}
"""Tag of each part that may be the largest, and what its time depends on."""
ON_GPU = ("GPU", "it depends on the GPU, and on the cores for what is not computed there")


def tag(
    found: Limits | None, parts: Mapping[str, float], workers: int, device: str | None
) -> Tag | None:
    """Name the main cause of lost efficiency, else the largest part of the time."""
    known = {part: seconds for part, seconds in parts.items() if part in DEPENDS}
    sentences = list(limits.of_several([found])) if found is not None else []
    if found is not None and found.main is not None:
        return Tag(text=_cause(found, found.main), why=" ".join(sentences))
    if not any(known.values()):
        return None
    largest = max(known, key=known.__getitem__)
    text, depends = DEPENDS[largest]
    if largest == "compute" and device not in {None, "cpu"}:
        text, depends = ON_GPU
    share = percent(known[largest] / sum(parts.values()))
    whole = (
        f"The largest part of the time at N = {workers} is {phase(largest)} ({share}): {depends}."
    )
    return Tag(text=text, why=" ".join([*sentences, whole]))


def _cause(found: Limits, main: Cause) -> str:
    """Name the main cause as sentences do, as surely as it is the first."""
    name, rival = (limits.SHORT[c.code] for c in (main, limits.rival(found) or main))
    if found.sureness == "undecided":
        return f"{name} or {rival}"
    return {"sure": name, "likely": f"probably {name}"}.get(found.sureness or "", f"{name}?")
