"""The viewer of wall times: a line for every stage, N and part of the time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from pyscale.analysis.causes import Limits
from pyscale.analysis.comparison import CELL, WHY_NOT
from pyscale.report import limits
from pyscale.report.palette import PARTS
from pyscale.report.viewer.build import Key, Layout, SideBySide, Tag, Viewer, viewer_of
from pyscale.wording import INVALID, percent, phase

IDLE = "idle, waiting for the slowest"
WHY_INVALID = (
    "Its output is not the baseline's, or its workers never all ran at once: the report of its run "
    "says which."
)
LAYOUT = Layout(
    id="viewer",
    file="comparison",
    told=("repeats", "work", "invalid", "wall_s", "wall_s_low", "wall_s_high", "percent"),
    source="kind",
    no_speedup="why_not",
    why_not=WHY_NOT,
)


def viewer(found: SideBySide) -> Viewer:
    """Shape the tables for the page.

    Sums over stages are left out where no column has a second stage, and parts that took no time
    in any column.
    """
    stages = found.rows.drop_nulls("stage").select("stage", "device").unique(maintain_order=True)
    several = set(stages.filter(pl.col("stage").is_duplicated())["stage"])

    def about(stage: str | None, device: str | None, workers: int, part: str | None) -> Any:
        curve = f"{stage} ({device})" if stage in several else stage
        return {
            "group": f"N = {workers}",
            "name": IDLE if part == "idle" else phase(part) if part else curve or "all stages",
            "heads": stage is None,
            "part": part is not None,
            "curve": curve,
        }

    return viewer_of(found, LAYOUT, _keys(found.rows), about, _tags(found))


def _keys(times: pl.DataFrame) -> list[Key]:
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


def _tags(found: SideBySide) -> Callable[[Mapping[str, Any]], Tag | None]:
    parts: dict[Key, dict[str, float]] = {}
    for row in found.rows.drop_nulls("part").to_dicts():
        whole = (row["side"], row["stage"], row["device"], row["workers"])
        parts.setdefault(whole, {})[row["part"]] = row["wall_s"]
    known = {
        (place, own.stage, own.device, own.workers): own
        for place, source in enumerate(found.sources)
        for own in source.limits
    }

    def tag_of(row: Mapping[str, Any]) -> Tag | None:
        if row["part"] is not None or row["stage"] is None:
            return None
        if row["invalid"]:
            return Tag(text=INVALID, why=WHY_INVALID)
        own = known.get((row["side"], row["stage"], row["own_device"], row["workers"]))
        whole = (row["side"], row["stage"], row["device"], row["workers"])
        return tag(own, parts.get(whole, {}), row["workers"])

    return tag_of


def tag(found: Limits | None, parts: Mapping[str, float], workers: int) -> Tag | None:
    """Name the main cause of lost efficiency, else the largest part of the time."""
    sentences = [] if found is None else list(limits.of_several([found]))
    if found is not None and found.main is not None:
        rivals = (found.main, limits.rival(found) or found.main)
        name, rival = (limits.SHORT[cause.code] for cause in rivals)
        sure = {
            "sure": name,
            "likely": f"probably {name}",
            "undecided": f"{name} or {rival}",
            "unknown": f"{name}?",
        }
        return Tag(text=sure[found.sureness or "unknown"], why=" ".join(sentences))
    # Whole tasks, without what they consist of, say nothing.
    known = {part: seconds for part, seconds in parts.items() if part != "busy"}
    if not any(known.values()):
        return None
    largest = max(known, key=known.__getitem__)
    share = percent(known[largest] / sum(parts.values()))
    whole = f"The largest part of the time at N = {workers} is {phase(largest)} ({share})."
    return Tag(text=phase(largest), why=" ".join([*sentences, whole]))
