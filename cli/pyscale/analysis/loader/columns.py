"""Columns of the tables of what loading patches gave."""

from __future__ import annotations

from pyscale.analysis.aggregate import folded_schema
from pyscale.analysis.declared import schema_of
from pyscale.analysis.schema import FLAG, REAL, TEXT, TEXTS, WHOLE, Schema, columns, ends_of
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


def trial_schema() -> Schema:
    """Columns of `loader_trials`, one row a trial; what docs/columns.md has is here of one trial.

    `complete` is whether every rank measured, `valid` whether the trial counts, which one that was
    tried again does not, unless asked for. `error` is of the first rank that failed. Rates:
    `patches_per_s` is patches of all ranks in step with each other over the longest time of a rank
    (with one rank its rate); those `inferred`, `aggregate` and of the slowest are of ranks that do
    not wait for others. `busiest` is the largest quotient on a node of loader processes and ranks
    by its cores; `oversubscribed` says that workers shared cores or that it is above 1. `checksum`
    is of what all delivered, in their order. What could not be measured is null; so is a sum over
    ranks of which a part is not known.
    """
    return columns(
        (TEXT, "stage"),
        (WHOLE, "workers"),
        (TEXT, "trial"),
        (WHOLE, "block attempt"),
        (FLAG, "complete valid"),
        (TEXT, "error"),
        (REAL, "patches_per_s inferred_per_s aggregate_per_s"),
        (WHOLE, "slowest_rank"),
        (REAL, "slowest_per_s straggling"),
        (WHOLE, "cores"),
        (REAL, "busiest"),
        (TEXT, "checksum cache_asked cache_state"),
        (FLAG, "oversubscribed disturbed"),
        (TEXTS, "hardware"),
    ) | folded_schema(Loading)


def point_schema() -> Schema:
    """Columns of `loader_points`, as docs/columns.md has them for benchmark_loader.csv.

    Medians over trials (see `trial_schema`), rates with the ends of a 95 % interval, null below six
    trials. `cores` are the fewest in any trial;
    `straggling` is that of the middle trial by `patches_per_s` (of two middle ones the slower), and
    `slowest_rank` was slowest in most. `effective_over_inferred` is null with one rank. Points are
    comparable that have the same N, `patch_px` and `mpp`; `on_front` and `keeps_diversity` are null
    where no speed or diversity is known. `checksum` is "differs" where it is not the same in all
    trials. `feeds` is "yes" or "no" where the interval of `patches_per_s` leaves no doubt, else
    "not sure".
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
