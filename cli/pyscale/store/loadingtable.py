"""The table of loading: its columns, and its rows from the records of one trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from pyscale.analysis.declared import row_of, schema_of
from pyscale.analysis.loader.columns import SETTINGS, setting_columns
from pyscale.analysis.schema import TEXT, WHOLE, Schema, columns
from pyscale.plan import Trial
from pyscale.store.columns import rank_rows, rank_schema
from pyscale.store.records import TaskRecord
from pyscale_stages.loading import Loading


def loading_schema() -> Schema:
    """Columns of the table of loading, one row a rank of a trial, as docs/columns.md has them.

    A rank that failed has its error, and null in all that was to be measured.
    """
    planned = columns((pl.List(WHOLE), "cpus"), (TEXT, "cache_asked cache_state settings"))
    return rank_schema() | planned | setting_columns() | schema_of(Loading)


def loading_rows(
    trial: Trial, tasks: Iterable[Mapping[str, Any]], records: Mapping[str, TaskRecord]
) -> Iterator[dict[str, Any]]:
    """Rows of the ranks of a trial that have ended, the failed ones too."""
    if not trial.loads_patches:
        return
    for task, of_rank in rank_rows(trial, tasks, ("cache_asked", "cache_state")):
        record = records[task]
        measured = row_of(record.result.loading if record.result is not None else None)
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
