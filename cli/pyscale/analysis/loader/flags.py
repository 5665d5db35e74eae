"""What a reader must know before trusting what loading gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyscale.analysis.flags import is_unstable
from pyscale.analysis.intervals import repeats_needed

if TYPE_CHECKING:
    import polars as pl

STRAGGLING = 0.2
"""A slowest rank that is this far below the median of the ranks is a straggler."""

FROM_MEMORY = 0.01
"""Of what is read, a share from block devices below which memory gave nearly all."""

DIFFERS = "differs"
"""What stands for a checksum that is not the same in all trials."""

SENTENCES = {
    "failed": "A trial failed or did not finish; it is left out.",
    "retried": "A trial succeeded only when tried again; it is left out.",
    "retried-counted": (
        "A trial succeeded only when tried again; it is counted, as was asked for."
    ),
    "few-repeats": f"Fewer than {repeats_needed()} trials count, too few for a 95 % interval.",
    "unstable": (
        "Rates scatter: standard deviation of 10 % of the mean or more, an extreme 50 % or more "
        "away from the mean, or a trial further than 14.8 median absolute deviations from the "
        "median."
    ),
    "not-cold": (
        "Slides were to be read cold, but lay in the page cache or in a filesystem that keeps "
        "them in memory: the rate is not the storage's."
    ),
    "from-memory": (
        f"Less than {FROM_MEMORY:.0%} of what the timed batches read came from block devices, "
        "though it was to be read cold. Unless the slides lie on a network's filesystem, whose "
        "bytes are not counted, they lay in memory before the clock started, and the rate is not "
        "the storage's."
    ),
    "evicted-unverified": (
        "Slides were evicted from the page cache, but nothing here can prove that they were gone."
    ),
    "cache-uncontrolled": (
        "The page cache was left as it was or cannot be seen: slides may have been read from "
        "storage or from memory."
    ),
    "oversubscribed": (
        "On a node there were more ranks and loader processes than cores for them: they waited "
        "for each other."
    ),
    "disturbed": (
        "Other work ran on the machine just before or after a trial, which may have shared cores, "
        "memory and storage with it."
    ),
    "straggler": (
        f"In the middle trial the slowest rank was more than {STRAGGLING:.0%} below the median "
        "of the ranks: all others wait for it."
    ),
    "mixed-hardware": (
        "Trials ran on different hardware: part of a difference may be the machines'."
    ),
    "checksum-differs": (
        "Trials delivered different patches, though all had the same seed: their rates may be "
        "those of different work."
    ),
}


def flag_codes(
    trials: pl.DataFrame, *, straggling: float | None, checksum: str | None
) -> list[str]:
    """Codes of all doubts about one configuration, in the order of `SENTENCES`.

    Parameters
    ----------
    trials : polars.DataFrame
        Every trial of it, also those that do not count, as
        `pyscale.analysis.loader.columns.trial_schema` describes them.
    straggling : float or None
        How far the slowest rank of the middle trial is below the median of the ranks.
    checksum : str or None
        As in its row.
    """
    import polars as pl

    counted = trials.filter("valid")
    asked_cold = pl.col("cache_asked") == "cold"
    cold, other = (
        set(counted.filter(whether)["cache_state"].drop_nulls())
        for whether in (asked_cold, ~asked_cold)
    )
    stored, read = pl.col("storage_read_bytes_per_patch"), pl.col("read_bytes_per_patch")
    little = (read > 0) & (stored < FROM_MEMORY * read)
    holds: dict[str, Any] = {
        "failed": not trials["complete"].all(),
        "retried": not trials.filter(pl.col("complete") & ~pl.col("valid")).is_empty(),
        "retried-counted": not counted.filter(pl.col("attempt") > 1).is_empty(),
        "few-repeats": 0 < counted.height < repeats_needed(),
        "unstable": is_unstable((1 / counted["patches_per_s"].drop_nulls()).to_list()),
        "not-cold": bool(cold & {"warm", "unsupported"}),
        "from-memory": not counted.filter(asked_cold & little).is_empty(),
        "evicted-unverified": "evicted-unverified" in cold,
        "cache-uncontrolled": bool(other & {"asis", "unsupported"}),
        "oversubscribed": bool(trials["oversubscribed"].any()),
        "disturbed": bool(counted["disturbed"].any()),
        "straggler": straggling is not None and straggling > STRAGGLING,
        "mixed-hardware": len(set(counted["hardware"].explode().drop_nulls())) > 1,
        "checksum-differs": checksum == DIFFERS,
    }
    return [code for code in SENTENCES if holds[code]]
