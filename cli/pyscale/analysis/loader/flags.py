"""Conditions that raise the flags of loading patches."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.doubts import cache_flags, flags_of_ranks, is_unstable
from pyscale.analysis.flags import FROM_MEMORY, STRAGGLING, raised

DIFFERS = "differs"
"""What stands for a checksum that is not the same in all trials."""


def flag_codes(
    trials: pl.DataFrame, *, straggling: float | None, checksum: str | None
) -> list[str]:
    """Codes of all doubts about one configuration, in the order of `FLAGS`."""
    counted = trials.filter("valid")
    stored, read = pl.col("storage_read_bytes_per_patch"), pl.col("read_bytes_per_patch")
    from_memory = (pl.col("cache_asked") == "cold") & (read > 0) & (stored < FROM_MEMORY * read)
    return raised(
        {
            **flags_of_ranks(trials),
            **cache_flags(counted),
            "unstable": is_unstable((1 / counted["patches_per_s"].drop_nulls()).to_list()),
            "from-memory": not counted.filter(from_memory).is_empty(),
            "oversubscribed": trials["oversubscribed"].any(),
            "straggler": straggling is not None and straggling > STRAGGLING,
            "disagrees": checksum == DIFFERS,
        }
    )
