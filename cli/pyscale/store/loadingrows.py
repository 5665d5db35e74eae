"""Rows of the table of loading, from the records of one trial."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyscale.analysis.loader.settings import SETTINGS
from pyscale.plan import Trial
from pyscale.store.rankcolumns import OF_TASK
from pyscale.store.records import TaskRecord
from pyscale_stages.loading import BatchWindow, Loading

_HEADER = (*OF_TASK, "cache_asked", "cache_state")
_PERCENTILES = {"p50_s": 50, "p95_s": 95, "p99_s": 99}


def loading_rows(
    trial: Trial, tasks: Iterable[Mapping[str, Any]], records: Mapping[str, TaskRecord]
) -> Iterator[dict[str, Any]]:
    """Rows of the ranks of a trial that have ended, the failed ones too.

    Parameters
    ----------
    trial : Trial
    tasks : iterable of mapping
        Rows of its tasks in the table of tasks.
    records : mapping of str to TaskRecord
        Of each of its tasks.
    """
    if not trial.loads_patches:
        return
    for row in tasks:
        if row["verb"] != "run":
            continue
        record = records[row["task"]]
        found = record.result.loading if record.result is not None else None
        yield {
            **{name: row.get(name) for name in _HEADER},
            "rank": int(row["task"].removeprefix("w")),
            "cpus": list(record.launch.cpus) if record.launch else None,
            **{name: trial.params.get(name) for name in SETTINGS},
            "settings": json.dumps(trial.params, sort_keys=True),
            **(_measured(found) if found is not None else {}),
        }


def _measured(found: Loading) -> dict[str, Any]:
    """Columns of what a rank measured."""
    free, together, diversity = found.free, found.together, found.diversity
    copies = (together or free).copies_s
    return {
        # What was evicted for the window is cold in it, whatever was asked for before the trial.
        **({} if free.cache is None else {"cache_asked": "cold", "cache_state": free.cache}),
        "slides": found.slides,
        "cores": found.cores,
        "patch_bytes": found.patch_bytes,
        **_window("free", free),
        "free_prefetched": free.prefetched_batches,
        "free_wait_max_s": max(free.waits_s),
        "free_read_bytes": free.read_bytes,
        "free_storage_read_bytes": free.storage_read_bytes,
        "free_cpu_s": free.cpu_s,
        **({} if together is None else _window("together", together)),
        **({} if together is None else _percentiles("together_step", together.steps_s)),
        "copy_mean_s": sum(copies) / len(copies) if copies else None,
        "pss_bytes": found.pss_bytes,
        "rss_bytes": found.rss_bytes,
        **({} if diversity is None else _diversity(diversity.model_dump())),
        "checksum": found.checksum,
        "checksum_patches": found.checksum_patches,
        "consumed_per_s": found.consumed_per_s,
        "consumer": found.consumer,
    }


def _diversity(told: dict[str, Any]) -> dict[str, Any]:
    return {"diversity_patches": told.pop("patches"), **told}


def _window(name: str, window: BatchWindow) -> dict[str, Any]:
    return {
        f"{name}_wall_s": window.wall_s,
        f"{name}_batches": len(window.waits_s),
        f"{name}_patches": window.patches,
        **_percentiles(f"{name}_wait", window.waits_s),
    }


def _percentiles(name: str, times_s: tuple[float, ...]) -> dict[str, float]:
    """Percentiles of times; of times that nobody took there are none."""
    import numpy as np

    if not times_s:
        return {}
    values = np.percentile(times_s, list(_PERCENTILES.values()))
    return {
        f"{name}_{which}": float(value) for which, value in zip(_PERCENTILES, values, strict=True)
    }
