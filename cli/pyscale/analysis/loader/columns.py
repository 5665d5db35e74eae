"""Columns of the tables of what loading patches gave."""

from __future__ import annotations

from pyscale.analysis.aggregate import folded_schema
from pyscale.analysis.declared import schema_of
from pyscale.analysis.schema import FLAG, REAL, TEXT, WHOLE, Schema, columns, ends_of
from pyscale_stages.loader.params import LoaderParams
from pyscale_stages.loading import Loading

SETTINGS = (
    *("factory", "reader", "num_workers", "pool_size", "patches_per_slide", "patches_per_visit"),
    *("batch_size", "prefetch_factor", "pin_memory", "patch_px", "mpp", "tissue"),
)
"""Parameters that tell configurations apart, in the order in which they are told."""
RATES = ("patches_per_s", "inferred_per_s", "aggregate_per_s")


def setting_columns() -> Schema:
    """Columns of `SETTINGS`."""
    kinds = schema_of(LoaderParams)
    return {name: kinds[name] for name in SETTINGS}


def point_schema() -> Schema:
    """Columns of `loader_points`, as docs/columns.md has them for benchmark_loader.csv.

    Of trials see `loader_trials`. Rates are medians with the ends of a 95 % interval, null below
    six trials. `cores` are the fewest in any trial; `straggling` is that of the middle trial by
    `patches_per_s` (of two middle ones the slower), and `slowest_rank` was slowest in most.
    `effective_over_inferred` is null with one rank. Points are comparable that have the same N,
    `patch_px` and `mpp`; `on_front` and `keeps_diversity` are null where no speed or diversity is
    known. `checksum` is "differs" where it is not the same in all trials. `feeds` is "yes" or "no"
    where the interval of `patches_per_s` leaves no doubt, else "not sure".
    """
    rates = ends_of(*RATES, "effective_over_inferred")
    return (
        columns(
            (TEXT, "stage family"),
            (WHOLE, "workers repeats failed"),
            (TEXT, "error"),
        )
        | setting_columns()
        | columns(
            (WHOLE, "loader_processes cores"),
            (FLAG, "oversubscribed"),
            (TEXT, "cache_state"),
            (REAL, f"{rates} slowest_per_s"),
            (WHOLE, "slowest_rank"),
            (REAL, "straggling"),
        )
        | folded_schema(Loading)
        | columns(
            (FLAG, "on_front keeps_diversity"),
            (TEXT, "checksum feeds flags"),
        )
    )


def rank_schema() -> Schema:
    """Columns of `loader_ranks`, one row a rank of a configuration; see docs/columns.md.

    Rate and waits are those without waiting for other ranks: medians over trials. `pss_bytes` is
    the most in any trial.
    """
    return columns(
        (TEXT, "stage"),
        (WHOLE, "workers rank"),
        (TEXT, "node"),
        (WHOLE, "repeats"),
        (REAL, "patches_per_s wait_p50_s wait_p95_s wait_p99_s"),
        (WHOLE, "pss_bytes slides"),
    )
