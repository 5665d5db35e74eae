"""Share of an input in a node's page cache: a part of the stage contract."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from pyscale_stages.record import Bytes, Record

CacheState = Literal["verified-cold", "evicted-unverified", "warm", "unsupported"]
LEAST_PROVED_FIRST = (
    *("asis", "unsupported", "warm", "evicted-unverified", "verified-cold", "direct"),
)
"""Every state of the page cache: of several files, repeats or nodes, the first one stands."""


class Residency(Record):
    """How much of one file lies in this node's page cache, and how that is known."""

    path: Path
    size_bytes: Bytes
    resident_bytes: Bytes | None = Field(description="None where it cannot be known")
    method: Literal["cachestat", "mincore", "preadv2", "none"]
    reason: str = Field("", description="Why it cannot be known")


class InputCache(Record):
    """Page-cache residency of one input file before and after the task."""

    before: Residency
    after: Residency
