"""Use of the memory and cores that tasks requested."""

from __future__ import annotations

from typing import Any

import polars as pl

GIB = 1 << 30


def memory_to_request(peak_bytes: int) -> int:
    """Memory to ask for, given the peak: a fifth more, in whole GiB.

    `ceil(1.2 x peak)` is the rule of Princeton's jobstats.
    """
    tenths_of_gib = 10 * GIB
    return max(1, -(-12 * peak_bytes // tenths_of_gib)) * GIB


def requested_and_used(timed: pl.DataFrame) -> dict[str, Any]:
    """Requests of one configuration beside their use, over its timed trials (one or more)."""
    peak = largest(timed["peak_rss_bytes"])
    requested = largest(timed["requested_memory_bytes"])
    share, enough = None, None
    if peak is not None and requested is not None:
        share, enough = peak / requested, memory_to_request(peak)
    return {
        "peak_rss_bytes": peak,
        "requested_memory_bytes": requested,
        "memory_used_share": share,
        "memory_to_request_bytes": enough,
        "cores_used": timed["cores_used"].median(),
        "requested_cpus": largest(timed["requested_cpus"]),
    }


def largest(values: pl.Series) -> Any:
    """Return the largest of what is known; None where nothing is."""
    return max(values.drop_nulls().to_list(), default=None)
