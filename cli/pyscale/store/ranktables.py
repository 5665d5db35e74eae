"""The tables with a row for each rank: of loading, and of reconstruction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from pyscale.analysis.declared import row_of, schema_of
from pyscale.analysis.ranks.loader import SETTINGS, setting_columns
from pyscale.analysis.schema import FLAG, REAL, TEXT, WHOLE, Schema, columns
from pyscale.planning.plan import Trial
from pyscale.planning.traits import has_own_work, shares_result
from pyscale.store.records import TaskRecord
from pyscale.store.taskfiles import MEMORY_LIMIT
from pyscale_stages.contract import AnySample, TaskError, TaskResult
from pyscale_stages.errors import ResourceExhausted
from pyscale_stages.loading import Loading
from pyscale_stages.reconstruction import Iteration, Reconstruction


def rank_schema() -> Schema:
    """Columns that all of these tables have: those of the table of tasks, and what is a rank's."""
    return columns(
        (TEXT, "trial suite stage family point"),
        (WHOLE, "workers block"),
        (TEXT, "task"),
        (WHOLE, "rank attempt"),
        (TEXT, "status error node hardware"),
        (FLAG, "oversubscribed disturbed exhausted"),
        (TEXT, "settings"),
    )


def _rank_rows(
    trial: Trial,
    tasks: Iterable[Mapping[str, Any]],
    records: Mapping[str, TaskRecord],
    names: Iterable[str],
) -> Iterator[tuple[TaskRecord, dict[str, Any]]]:
    """Record of each window's task that ended, and columns of `rank_schema` and of these names."""
    for row in tasks:
        if row["verb"] == "run":
            record = records[row["task"]]
            yield (
                record,
                {
                    **{name: row.get(name) for name in (*rank_schema(), *names)},
                    "rank": int(row["task"].removeprefix("w")),
                    "exhausted": _ran_out_of_memory(record.error),
                    "settings": json.dumps(trial.params, sort_keys=True),
                },
            )


def reconstruction_schema() -> Schema:
    """Columns of the table of reconstruction, one row a timed iteration of a rank of a trial.

    See docs/columns.md. A rank that failed has one row, with its error and null in all that was to
    be measured.
    """
    return (
        rank_schema()
        | columns((TEXT, "problem"), (WHOLE, "size_px"))
        | schema_of(Reconstruction)
        | columns((TEXT, "device"), (REAL, "deviation_interior deviation_border"))
        | columns((WHOLE, "iteration"))
        | schema_of(Iteration)
        | columns((REAL, "objective_s"))
    )


def reconstruction_rows(
    trial: Trial, tasks: Iterable[Mapping[str, Any]], records: Mapping[str, TaskRecord]
) -> Iterator[dict[str, Any]]:
    """Rows of the ranks of a trial that have ended, the failed ones too."""
    if not shares_result(trial.stage):
        return
    deviations = _deviations(records.get("check"))
    for record, of_rank in _rank_rows(trial, tasks, records, ("device",)):
        found = _only(record.result, Reconstruction)
        made = not trial.params.get("image")
        size_px = trial.params.get("size_px") if made else found and found.shape[-1]
        of_rank |= {"problem": trial.params.get("problem"), "size_px": size_px}
        if found is None or record.state == "failed":
            yield of_rank
            continue
        measured = of_rank | row_of(found) | deviations
        timed = zip(found.iterations, found.objectives_s, strict=True)
        for number, (iteration, objective_s) in enumerate(timed):
            told = {"iteration": number, "objective_s": objective_s}
            yield measured | told | row_of(iteration)


def _only(result: TaskResult | None, kind: type[AnySample]) -> AnySample | None:
    """The sample of a kind of which a rank has one; None where it measured nothing."""
    return next(iter(result.of(kind)), None) if result is not None else None


def _ran_out_of_memory(error: TaskError | None) -> bool:
    """Whether a rank's own memory ran out."""
    if error is None:
        return False
    # A full disk exhausts a resource too.
    by_itself = error.kind == ResourceExhausted.__name__ and "memory" in error.message
    return by_itself or error.kind == MEMORY_LIMIT


def _deviations(check: TaskRecord | None) -> dict[str, float | None]:
    """How far the image is from that of the fewest ranks, where the two were compared."""
    result = check.result if check is not None else None
    agreement = result.agreement if result is not None else None
    told = agreement.details if agreement is not None else {}
    return {
        "deviation_interior": told.get("interior_deviation"),
        "deviation_border": told.get("border_deviation"),
    }


def loading_schema() -> Schema:
    """Columns of the table of loading, one row a rank of a trial, as docs/columns.md has them.

    A rank that failed has its error, and null in all that was to be measured.
    """
    planned = columns((pl.List(WHOLE), "cpus"), (TEXT, "cache_asked cache_state"))
    return rank_schema() | planned | setting_columns() | schema_of(Loading)


def loading_rows(
    trial: Trial, tasks: Iterable[Mapping[str, Any]], records: Mapping[str, TaskRecord]
) -> Iterator[dict[str, Any]]:
    """Rows of the ranks of a trial that have ended, the failed ones too."""
    if not has_own_work(trial.stage):
        return
    for record, of_rank in _rank_rows(trial, tasks, records, ("cache_asked", "cache_state")):
        measured = row_of(_only(record.result, Loading))
        if measured.get("free_cache") is not None:
            # What was evicted for the window is cold in it, whatever was asked for before.
            of_rank |= {"cache_asked": "cold", "cache_state": measured["free_cache"]}
        yield {
            **measured,
            **of_rank,
            "cpus": list(record.launch.cpus) if record.launch else None,
            # As the user wrote them: a factory is not told by where it was found.
            **{name: trial.params.get(name) for name in SETTINGS},
        }
