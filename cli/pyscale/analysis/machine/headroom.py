"""Cold reads of the stages, beside the measured rate of that storage."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from pyscale.analysis.schema import FLAG, REAL, TEXT, WHOLE, columns

COLD = ("verified-cold", "evicted-unverified")
"""States of the page cache in which what is read comes from storage, or ought to."""
ONE_READER = "particle_sequential_read_cold"
SEVERAL_READERS = "parallel_read_cold"


def headroom(
    tests: pl.DataFrame,
    tasks: pl.DataFrame,
    spans: pl.DataFrame,
    places: Mapping[str, Mapping[str, str]],
) -> pl.DataFrame:
    """Set the rate at which workers of a node read their input beside that of its storage.

    Only reads after an eviction are compared, with the storage's cold sequential reads: a warm
    input comes from memory. Of the parallel reads the one is taken with the most readers that are
    no more than the workers on the node. Nothing is said where the input lies on another filesystem
    than the one that was measured, as far as type and device tell.

    The bytes are at most the input's size, times the share of the trial's frames that this node
    had, and at most what either of the kernel's counters says. The rate is therefore an upper
    bound, and so is its share.
    """
    storage = pl.DataFrame(
        [(node, storage_of(place)) for node, place in places.items()],
        {"node": TEXT, "storage": TEXT},
        orient="row",
    )
    return (
        _read_cold(tasks, spans)
        .join(storage, on="node", how="left", maintain_order="left")
        .filter(pl.col("input_storage").eq_missing(pl.col("storage")))
        .join(_cold_reads(tests), on="node", maintain_order="left_right")
        .filter(pl.col("test_readers") <= pl.col("readers"))
        .sort("order", -pl.col("test_readers"), maintain_order=True)
        .unique("order", keep="first", maintain_order=True)
        .with_columns(
            share=pl.col("read_bytes_per_s") / pl.col("storage_bytes_per_s"),
            proved=pl.col("proved") & (pl.col("cache") == "verified-cold"),
        )
        .select(pl.col(name).cast(kind) for name, kind in HEADROOM_SCHEMA.items())
    )


HEADROOM_SCHEMA = columns(
    (TEXT, "stage"),
    (WHOLE, "workers"),
    (TEXT, "node"),
    (WHOLE, "readers trials"),
    (REAL, "read_bytes read_s read_bytes_per_s"),
    (TEXT, "test"),
    (WHOLE, "test_readers"),
    (REAL, "storage_bytes_per_s share"),
    (FLAG, "proved"),
)


def storage_of(place: Mapping[str, str]) -> str | None:
    """Say of a measured place what `input_storage` says of a task's input."""
    kind = place.get("place_filesystem")
    return None if kind is None else f"{kind} on {place.get('place_device', '')}"


def _cold_reads(tests: pl.DataFrame) -> pl.DataFrame:
    """Cold sequential reads of storage, by one process that measured a node."""
    several = (pl.col("test") == SEVERAL_READERS) & (pl.col("at_once") > 1)
    return tests.filter(
        pl.col("kind") == "storage",
        (pl.col("test") == ONE_READER) | several,
        pl.col("cache").is_in(COLD),
        pl.col("processes") == 1,
        pl.col("rate").is_not_null(),
    ).select("node", "test", "cache", test_readers="at_once", storage_bytes_per_s="rate")


def _read_cold(tasks: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Cold reads of the workers of each stage, N and node: medians over trials."""
    run = tasks.filter(pl.col("verb") == "run", pl.col("status") == "done")
    known = run.with_columns(
        frames_share=pl.col("frames").sum().over("trial", "node")
        / pl.col("frames").sum().over("trial")
    ).filter(pl.col("cache_state").is_in(COLD), pl.col("node").is_not_null())
    one = ("stage", "workers", "node", "trial")
    # Without frames the share of a node is 0 over 0, and all of the input its bound.
    bound = pl.col("input_bytes").max() * pl.col("frames_share").first().fill_nan(1.0)
    counted = [_counted(name) for name in ("read_bytes", "storage_read_bytes")]
    trials = known.group_by(one, maintain_order=True).agg(
        pl.col("input_storage").first(),
        readers=pl.col("lane").n_unique(),
        # Counters hold the program's own libraries too, and a node fetches what is cold once.
        read_bytes=pl.min_horizontal(bound, *counted),
        proved=(pl.col("cache_state") == "verified-cold").all(),
    )
    return (
        trials.join(_reading(known, spans), on=("trial", "node"), maintain_order="left")
        .filter(pl.col("read_bytes") > 0, pl.col("read_s") > 0)
        .with_columns(read_bytes_per_s=pl.col("read_bytes") / pl.col("read_s"))
        .group_by("stage", "workers", "node", maintain_order=True)
        .agg(
            pl.col("input_storage").first(),
            pl.col("readers").max(),
            pl.col("read_bytes", "read_s", "read_bytes_per_s").median(),
            pl.col("proved").all(),
            trials=pl.len(),
        )
        .with_row_index("order")
        .sort(pl.col("order").min().over("stage"), "workers", "node")
        .drop("order")
        .with_row_index("order")
    )


def _counted(name: str) -> pl.Expr:
    """Sum over workers; null where it is not known."""
    total = pl.col(name).sum()
    # Where a kernel counts nothing, a cold input was read all the same.
    return pl.when(pl.col(name).is_not_null().all() & (total > 0)).then(total)


def _reading(tasks: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Time in which any worker of a trial was reading, on each node."""
    start, end = pl.col("start_utc"), pl.col("end_utc")
    earlier = end.cum_max().shift(1).over("trial", "node")
    # Reads overlap: of each only the time after all earlier ones is added.
    begin = pl.max_horizontal(start, earlier)
    alone = (end - begin).dt.total_microseconds().clip(lower_bound=0) / 1e6
    return (
        spans.filter(pl.col("phase") == "read")
        .join(tasks.select("trial", "task", "node"), on=("trial", "task"))
        .with_columns(end_utc=start + pl.duration(microseconds=(pl.col("wall_s") * 1e6).round()))
        .sort("trial", "node", "start_utc")
        .with_columns(read_s=alone)
        .group_by("trial", "node")
        .agg(pl.col("read_s").sum())
    )
