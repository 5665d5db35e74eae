"""Ranks and processes become a trial and trials a configuration, as records declare it.

Repeats inside one process are not independent, so that trials are the unit of repetition: a
configuration has their medians, with intervals between order statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from statistics import median
from typing import Any

import polars as pl

from pyscale.analysis.declared import REAL, Schema, columns, declared, ends_of
from pyscale.analysis.intervals import median_interval, median_with_ends, with_ends
from pyscale.analysis.workers import sum_if_all
from pyscale_stages.record import Derived, OverRanks, OverTrials, Record

Exprs = Sequence[pl.Expr]


def _most(values: pl.Expr) -> pl.Expr:
    # The largest of those that are known may not be the largest.
    return pl.when(values.null_count() == 0).then(values.max())


def _names(values: pl.Expr) -> pl.Expr:
    names = values.drop_nulls().unique().sort().str.join(", ")
    # No names at all, joined, would be an empty text.
    return pl.when(values.is_not_null().any()).then(names)


RANKS: dict[OverRanks, tuple[str, Callable[[pl.Expr], pl.Expr]]] = {
    "sum": ("sum over ranks", sum_if_all),
    "most": ("largest of the ranks", _most),
    "least": ("least of the ranks", pl.Expr.min),
    "mean": ("mean of the ranks", pl.Expr.mean),
    "first": ("", lambda values: values.sort_by("rank").drop_nulls().first()),
    "names": ("", _names),
    "node": ("sum over the ranks of a node, largest of the nodes", _most),
    # Each of N ranks has a share of 1 / N, and the sum of squared shares is the mean of its ranks'
    # over N: ranks without a slide in common have N times the harmonic mean of theirs.
    "apart": ("of all ranks together", lambda values: pl.len() ** 2 / sum_if_all(1 / values)),
    "rates": ("", sum_if_all),
    "slowest": ("", pl.Expr.min),
    "slowest each": ("", lambda rates: pl.len() * rates.min()),
    "step": ("", sum_if_all),
}
"""How ranks become a trial: in words, and of their column."""
OF_RATES = ("rates", "slowest", "slowest each")
"""Of the rates of single ranks."""


def _known(reduce: Callable[[list[Any]], Any]) -> Callable[[pl.Series], Any]:
    """Give what is made of all values; null where one is not known."""
    return lambda values: (
        None if values.is_empty() or values.null_count() else reduce(values.to_list())
    )


def first_told(values: pl.Series) -> Any:
    """First value that is neither null nor empty; null where there is none."""
    return next((value for value in values.to_list() if value not in (None, "")), None)


# A median of rates goes by way of their inverses, which are costs.
median_rate = _known(lambda rates: 1 / median(1 / rate for rate in rates))

TRIALS: dict[OverTrials, tuple[str, Callable[[pl.Series], Any]]] = {
    "median": ("median over trials", pl.Series.median),
    "rate": ("median over trials", median_rate),
    "most": ("largest of any trial", _known(max)),
    "max": ("largest of any trial", pl.Series.max),
    "min": ("least of any trial", pl.Series.min),
    "first": ("", first_told),
    "told": ("", first_told),
    "names": ("", lambda values: ", ".join(values.drop_nulls().unique().sort()) or None),
}
"""How trials become a configuration: in words, and of their column."""
OF_ALL = ("told", "names")
"""What trials that do not count tell too."""


@cache
def folded(record: type[Record]) -> dict[str, Derived]:
    """Numbers of a trial that a record declares, by their columns."""
    own = {
        name: Derived(name, each.means, each.metric.ranks, each.metric.trials)
        for name, each in declared(record).items()
        if each.metric.ranks
    }
    return {**record.derived, **own}


def folded_schema(record: type[Record]) -> Schema:
    """Columns of these numbers and their types."""
    kinds = {name: each.kind for name, each in declared(record).items()}
    return {
        column: REAL if each.per or each.ranks == "mean" else kinds[each.of.split()[0]]
        for name, each in folded(record).items()
        for column in ((name, f"{name}_low", f"{name}_high") if each.interval else (name,))
    }


def meanings(record: type[Record]) -> dict[str, str]:
    """What these numbers mean of a configuration."""
    found = {}
    for name, each in folded(record).items():
        over_ranks = "over all ranks" if each.per and each.ranks == "sum" else RANKS[each.ranks][0]
        how = ", ".join(filter(None, (over_ranks, TRIALS[each.trials][0])))
        found[name] = f"{each.means} ({how})" if how else each.means
    return found


def over_ranks(table: pl.DataFrame, record: type[Record]) -> pl.DataFrame:
    """Take the ranks of each trial together: a row a trial, with what the record declares."""
    own = folded(record)
    sums = {
        _on_node(each): sum_if_all(pl.col(each.of)).over("trial", "node")
        for each in own.values()
        if each.ranks == "node"
    }
    return (
        table.with_columns(**sums)
        .group_by("trial", maintain_order=True)
        .agg(_of_ranks(each).alias(name) for name, each in own.items())
    )


def _on_node(each: Derived) -> str:
    return f"{each.of} on its node"


def _of_ranks(each: Derived) -> pl.Expr:
    if each.ranks == "node":
        return _most(pl.col(_on_node(each)))
    of, reduced = pl.coalesce(each.of.split()), RANKS[each.ranks][1]
    if not each.per:
        return reduced(of)
    per = pl.coalesce(each.per.split())
    if each.ranks in OF_RATES:
        return reduced(of / per)
    # Ranks that go in step have one time, that of the slowest.
    return reduced(of) / (per.max() if each.ranks == "step" else sum_if_all(per))


def trials_of_ranks(
    table: pl.DataFrame,
    record: type[Record],
    *own: pl.Expr,
    measured: str,
) -> pl.DataFrame:
    """Say of each trial whether it counts, and what its ranks declare, taken together.

    `table` has one row a rank of a trial, `own` are more columns of a trial, and `measured` is a
    column that every rank has which measured. `error` is of the rank where memory ran out, else of
    the first that failed. Where a rank failed there are facts alone, and no numbers.
    """
    done = (pl.col("status") == "done") & pl.col(measured).is_not_null()
    # A rank that left no record makes its trial incomplete.
    all_ranks = pl.col("rank").n_unique() == pl.col("workers").first()
    ran_out = pl.col("exhausted").fill_null(False)
    numbers = [name for name, each in folded(record).items() if each.trials not in OF_ALL]
    return (
        table.group_by("trial", maintain_order=True)
        .agg(
            pl.col("stage", "family", "workers", "block").first(),
            pl.col("attempt").max(),
            (done.all() & all_ranks).alias("complete"),
            # Where one rank ran out of memory, the others only tell that they were left.
            pl.col("error").replace("", None).sort_by(~ran_out, "rank").drop_nulls().first(),
            ran_out.any().alias("exhausted"),
            pl.col("oversubscribed", "disturbed").any(),
            pl.col("hardware").drop_nulls().unique().sort(),
            *own,
        )
        .join(over_ranks(table, record), on="trial", maintain_order="left")
        .with_columns(
            pl.when("complete").then(pl.col(numbers)),
            valid=pl.col("complete") & (pl.col("attempt") == 1),
        )
    )


def over_trials(trials: pl.DataFrame, record: type[Record]) -> dict[str, Any]:
    """Sum up the trials of one configuration; those that do not count tell facts alone."""
    counted = trials.filter("valid")
    found: dict[str, Any] = {}
    for name, each in folded(record).items():
        found[name] = TRIALS[each.trials][1]((trials if each.trials in OF_ALL else counted)[name])
        if each.interval:
            interval = median_interval(counted[name].drop_nulls().to_list())
            found |= with_ends(name, found[name], interval)
    return found


def medians(
    trials: pl.DataFrame, by: Sequence[str], *names: str, beside: Exprs = ()
) -> pl.DataFrame:
    """Take the trials of each configuration together: medians, with the ends of their intervals."""
    found = trials.group_by(by, maintain_order=True).agg(pl.col(names).drop_nulls(), *beside)
    ends = [
        {end: value for name in names for end, value in median_with_ends(name, row[name]).items()}
        for row in found.select(names).iter_rows(named=True)
    ]
    return found.drop(names).hstack(pl.DataFrame(ends, columns((REAL, ends_of(*names)))))


def baseline(entry: pl.DataFrame) -> pl.DataFrame:
    """Trials that count with the fewest ranks of any that counts; none where none counts."""
    return entry.filter("valid").filter(pl.col("workers") == pl.col("workers").min())


def by_workers(trials: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Trials of each entry at each N, which rises, and all trials of that entry."""
    for entry in trials.partition_by("stage", maintain_order=True):
        ordered = entry.sort("workers", maintain_order=True)
        for own in ordered.partition_by("workers", maintain_order=True):
            yield own, entry


def configuration(trials: pl.DataFrame, record: type[Record]) -> dict[str, Any]:
    """Say of a configuration how many of its trials count, and what they declare."""
    return {
        **{name: trials[name][0] for name in ("stage", "family", "workers")},
        "repeats": int(trials["valid"].sum()),
        "failed": int((~trials["complete"]).sum()),
        "error": first_told(trials["error"]),
        "exhausted": bool(trials["exhausted"].any()),
        **over_trials(trials, record),
    }


def of_middle(trials: pl.DataFrame, name: str, *, by: str | pl.Expr) -> Any:
    """Give what the middle trial by a time has, of two the slower: a quotient is never averaged."""
    return trials.sort(by, "block")[name][trials.height // 2] if trials.height else None
