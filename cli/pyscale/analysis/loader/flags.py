"""Flags: a code and a sentence for each doubt about loading."""

from __future__ import annotations

from typing import Any

import polars as pl

from pyscale.analysis.flags import OF_RANKS, codes_of_ranks, is_unstable

STRAGGLING = 0.2
"""A slowest rank that is this far below the median of the ranks is a straggler."""

FROM_MEMORY = 0.01
"""Of what is read, a share from block devices below which memory gave nearly all."""

DIFFERS = "differs"
"""What stands for a checksum that is not the same in all trials."""

SENTENCES = {
    **OF_RANKS,
    "unstable": (
        "Rates scatter: standard deviation of 10 % of the mean or more, a trial 50 % or more away "
        "from the mean, or one further than 14.8 median absolute deviations from the median."
    ),
    "not-cold": (
        "Cold cache requested, but slides were in the page cache or in a filesystem in memory: "
        "the rate is not the storage's."
    ),
    "from-memory": (
        f"Cold cache requested, but less than {FROM_MEMORY:.0%} of the bytes of the timed batches "
        "came from block devices: unless the slides are on a network filesystem, whose bytes are "
        "not counted, they were in memory before, and the rate is not the storage's."
    ),
    "evicted-unverified": (
        "Slides were evicted from the page cache; the eviction could not be verified."
    ),
    "cache-uncontrolled": (
        "The page cache was left as it was or cannot be inspected: slides may have been read from "
        "storage or from memory."
    ),
    "oversubscribed": "More ranks and loader processes on a node than available cores.",
    "disturbed": (
        "Other work ran on the machine just before or after a trial, and may have shared cores, "
        "memory and storage with it."
    ),
    "straggler": (
        f"In the middle trial the slowest rank was more than {STRAGGLING:.0%} below the median "
        "of the ranks: all others wait for it."
    ),
    "mixed-hardware": (
        "Trials ran on different hardware: the machines may cause part of the difference."
    ),
    "checksum-differs": (
        "Trials delivered different patches with the same seed: their rates may be of different "
        "work."
    ),
}


def flag_codes(
    trials: pl.DataFrame, *, straggling: float | None, checksum: str | None
) -> list[str]:
    """Codes of all doubts about one configuration, in the order of `SENTENCES`."""
    counted = trials.filter("valid")
    asked_cold = pl.col("cache_asked") == "cold"
    cold, other = (
        set(counted.filter(whether)["cache_state"].drop_nulls())
        for whether in (asked_cold, ~asked_cold)
    )
    stored, read = pl.col("storage_read_bytes_per_patch"), pl.col("read_bytes_per_patch")
    little = (read > 0) & (stored < FROM_MEMORY * read)
    holds: dict[str, Any] = {
        **codes_of_ranks(trials),
        "unstable": is_unstable((1 / counted["patches_per_s"].drop_nulls()).to_list()),
        "not-cold": bool(cold & {"warm", "unsupported"}),
        "from-memory": not counted.filter(asked_cold & little).is_empty(),
        "evicted-unverified": "evicted-unverified" in cold,
        "cache-uncontrolled": bool(other & {"asis", "unsupported"}),
        "oversubscribed": bool(trials["oversubscribed"].any()),
        "straggler": straggling is not None and straggling > STRAGGLING,
        "checksum-differs": checksum == DIFFERS,
    }
    return [code for code in SENTENCES if holds[code]]
