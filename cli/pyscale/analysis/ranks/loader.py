"""Rates and diversity of loading patches: trials, configurations, ranks, and which to take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from statistics import median
from typing import Any, ClassVar, Literal, NamedTuple

import polars as pl

from pyscale.analysis.aggregate import (
    by_workers,
    configuration,
    folded_schema,
    of_middle,
    trials_of_ranks,
)
from pyscale.analysis.declared import FLAG, REAL, TEXT, WHOLE, Schema, columns, ends_of, schema_of
from pyscale.analysis.doubts import cache_flags, flags_of_any
from pyscale.analysis.findings import PointFindings, Row
from pyscale.analysis.flags import SHARES, raised
from pyscale.analysis.intervals import ratio_interval, with_ends
from pyscale.analysis.trials import least_proved
from pyscale.analysis.workers import sum_if_all
from pyscale_stages.loader.stage import LoaderParams
from pyscale_stages.loading import Loading

SETTINGS = (
    *("factory", "reader", "num_workers", "pool_size", "patches_per_slide", "patches_per_visit"),
    *("batch_size", "prefetch_factor", "persistent_workers", "pin_memory", "start_method"),
    *("patch_px", "mpp", "tissue"),
)
"""Parameters that tell configurations apart, in the order in which they are told."""
DECIDING = (
    *("num_workers", "pool_size", "patches_per_slide", "patches_per_visit", "batch_size"),
    *("patch_px", "mpp", "tissue", "checksum_batches"),
)
"""Parameters that decide, beside the seed, which patches the checksum is of. What reads them, how
many batches are kept ready and where they are copied to must change nothing."""
DIFFERS = "differs"
"""What stands for a checksum that is not the same in all trials."""


def setting_columns() -> Schema:
    """Columns of `SETTINGS`."""
    kinds = schema_of(LoaderParams)
    return {name: kinds[name] for name in SETTINGS}


_RATES = ("patches_per_s", "inferred_per_s", "aggregate_per_s", "effective_over_inferred")
POINT_SCHEMA = (
    columns(
        (TEXT, "stage family"),
        (WHOLE, "workers repeats failed"),
        (TEXT, "error"),
        (FLAG, "exhausted"),
    )
    | setting_columns()
    | columns(
        (WHOLE, "loader_processes cores"),
        (FLAG, "oversubscribed"),
        (TEXT, "cache_state"),
        (REAL, f"{ends_of(*_RATES)} slowest_per_s"),
        (WHOLE, "slowest_rank"),
        (REAL, "straggling"),
    )
    | folded_schema(Loading)
    | columns((FLAG, "on_front keeps_diversity"), (TEXT, "checksum feeds flags"))
)
RANK_SCHEMA = columns(
    (TEXT, "stage"),
    (WHOLE, "workers rank"),
    (TEXT, "node"),
    (WHOLE, "repeats"),
    (REAL, "patches_per_s wait_p50_s wait_p95_s wait_p99_s"),
    (WHOLE, "pss_bytes slides"),
)
"""Rate and waits are those without waiting for other ranks: medians over trials."""


class SamePatches(NamedTuple):
    """Points that must deliver the same patches, as they differ in what makes or reads them."""

    workers: int
    stages: tuple[str, ...]
    # Unknown where a checksum is not known, or differs over trials.
    verdict: Literal["same", "different", "unknown"]


@dataclass(frozen=True)
class LoaderFindings(PointFindings):
    """Findings of loading patches."""

    kind: ClassVar[str] = "loader"
    work: ClassVar[Literal["own", "shared"]] = "own"

    ranks: pl.DataFrame
    """One row a rank of a configuration."""
    keep: float
    """Share of the largest diversity that was to be kept."""
    advised: tuple[Advised, ...]
    """One for each set of comparable points, by rising N."""
    same_patches: tuple[SamePatches, ...]
    """Whether different factories and readers delivered the same patches."""

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Tables by their keys in `pyscale.report.csv`."""
        return {"loader": self.points, "loader_ranks": self.ranks}

    @property
    def advice(self) -> Advised | None:
        """The advice for the most ranks; None where no diversity is known."""
        return max(self.advised, key=lambda one: int(one.row["workers"]), default=None)

    @property
    def chosen(self) -> Row | None:
        """The advised configuration, else the fastest at the largest N; None without any."""
        if self.advice is not None:
            return self.advice.row
        timed = self.points.filter(pl.col("patches_per_s").is_not_null()).to_dicts()
        return max(timed, key=lambda row: (row["workers"], row["patches_per_s"]), default=None)


def loader_findings(loading: pl.DataFrame, *, keep: float) -> LoaderFindings | None:
    """Find what the loading of patches tells; None where nothing was loaded."""
    if loading.is_empty():
        return None
    trials = loader_trials(loading)
    points = loader_points(trials, keep=keep)
    return LoaderFindings(
        points=points,
        ranks=_ranks(loading, trials),
        keep=keep,
        advised=advised(points),
        same_patches=_same_patches(loading, points),
    )


def loader_trials(loading: pl.DataFrame) -> pl.DataFrame:
    """Take the ranks of each trial together.

    `busiest` is the largest quotient on a node of loader processes and ranks by its cores.
    `checksum` is of what all delivered, in the order of ranks.
    """
    # A median of rates is that of the times of a patch, as these are costs.
    patch_s, checksum = pl.col("free_wall_s") / pl.col("free_patches"), pl.col("checksum")
    found = trials_of_ranks(
        loading,
        Loading,
        pl.col("cache_asked", *SETTINGS).first(),
        least_proved(pl.col("cache_state")).alias("cache_state"),
        pl.col("rank").sort_by(-patch_s, "rank").first().alias("slowest_rank"),
        (1 - patch_s.median() / patch_s.max()).alias("straggling"),
        pl.when(checksum.null_count() == 0)
        .then(checksum.sort_by("rank").str.join("\n"))
        .alias("checksum"),
        measured="free_wall_s",
    )
    digest = checksum.map_elements(
        lambda lines: sha256(lines.encode()).hexdigest(), return_dtype=pl.String
    )
    return (
        found.join(node_use(loading), on="trial", how="left", maintain_order="left")
        .with_columns(
            checksum=pl.when(pl.col("workers") == 1).then("checksum").otherwise(digest),
            oversubscribed=pl.col("oversubscribed") | (pl.col("busiest") > 1).fill_null(False),
        )
        .with_columns(pl.when("complete").then(pl.col("slowest_rank", "straggling", "checksum")))
    )


def node_use(loading: pl.DataFrame) -> pl.DataFrame:
    """Cores of all nodes of each trial, and the largest quotient of processes by cores on one."""
    # The loader processes of a rank, and the rank itself.
    processes = pl.col("num_workers") + 1
    return (
        loading.group_by("trial", "node", maintain_order=True)
        .agg(sum_if_all(processes).alias("processes"))
        .join(_node_cores(loading), on=["trial", "node"], how="left", nulls_equal=True)
        .group_by("trial", maintain_order=True)
        .agg(
            sum_if_all(pl.col("cores")).alias("cores"),
            (pl.col("processes") / pl.col("cores")).max().alias("busiest"),
        )
    )


def _node_cores(loading: pl.DataFrame) -> pl.DataFrame:
    """Cores for the ranks of each node: those pinned to the same cores share them."""
    pinned = pl.col("cpus").list.sort().cast(pl.List(pl.String)).list.join(",")
    shares = loading.group_by("trial", "node", pinned, maintain_order=True).agg(
        pl.col("cores").max()
    )
    numbers = pl.col("cpus").str.split(",").list.explode()
    return shares.group_by("trial", "node", maintain_order=True).agg(
        # Sets of cores that overlap would count some of them twice.
        cores=pl.min_horizontal(
            sum_if_all(pl.col("cores")),
            pl.when(pl.col("cpus").fill_null("").str.len_bytes().min() > 0).then(
                numbers.n_unique()
            ),
        )
    )


def loader_points(trials: pl.DataFrame, *, keep: float) -> pl.DataFrame:
    """Sum up the trials of each entry at each N."""
    rows = [configuration(own, Loading) | _beyond(own) for own, _ in by_workers(trials)]
    consumed = pl.col("consumed_per_s")
    feeds = (
        pl.when(consumed.is_null() | pl.col("patches_per_s").is_null())
        .then(None)
        .when(pl.col("patches_per_s_low") >= consumed)
        .then(pl.lit("yes"))
        .when(pl.col("patches_per_s_high") < consumed)
        .then(pl.lit("no"))
        .otherwise(pl.lit("not sure"))
    )
    table = pl.DataFrame(rows, POINT_SCHEMA).with_columns(
        loader_processes=pl.col("workers") * pl.col("num_workers"), feeds=feeds
    )
    return with_front(table, keep=keep)


def _beyond(trials: pl.DataFrame) -> Row:
    """What a configuration has beyond what its record declares."""
    counted = trials.filter("valid")
    several = counted.filter(pl.col("workers") > 1)
    patch_s = 1 / pl.col("patches_per_s")
    straggling = of_middle(several, "straggling", by=patch_s)
    sums = counted["checksum"]
    known = set(sums.drop_nulls())
    checksum = DIFFERS if len(known) > 1 else None
    if len(known) == 1 and not sums.null_count():
        (checksum,) = known
    stored, read = pl.col("storage_read_bytes_per_patch"), pl.col("read_bytes_per_patch")
    from_memory = (
        (pl.col("cache_asked") == "cold") & (read > 0) & (stored < SHARES["from-memory"] * read)
    )
    doubts = {
        **flags_of_any(trials, counted.select(patch_s).to_series().drop_nulls().to_list()),
        **cache_flags(counted),
        "exhausted": bool(trials["exhausted"].any()),
        "from-memory": not counted.filter(from_memory).is_empty(),
        "straggler": straggling is not None and straggling > SHARES["straggler"],
        "disagrees": checksum == DIFFERS,
    }
    return {
        **{name: trials[name][0] for name in SETTINGS},
        "cores": trials["cores"].min(),
        "oversubscribed": bool(trials["oversubscribed"].any()),
        "cache_state": counted.select(least_proved(pl.col("cache_state"))).item(),
        **_quotient(several),
        # Of several that were so as often the first.
        "slowest_rank": several["slowest_rank"].mode().min(),
        "straggling": straggling,
        "checksum": checksum,
        "flags": ",".join(raised(doubts)),
    }


def _quotient(trials: pl.DataFrame) -> dict[str, float | None]:
    """Effective over inferred rate; both were measured in the same trials."""
    if trials.is_empty():
        return {}
    # Times of a patch: inferred over effective they are the effective rate over the inferred.
    inferred_s = (1 / trials["inferred_per_s"]).to_list()
    effective_s = (1 / trials["patches_per_s"]).to_list()
    interval = ratio_interval(inferred_s, effective_s, paired=True)
    quotient = median(inferred_s) / median(effective_s)
    return with_ends("effective_over_inferred", quotient, interval)


def _ranks(loading: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    patch_s = pl.col("free_wall_s") / pl.col("free_patches")
    waits = ("wait_p50_s", "wait_p95_s", "wait_p99_s")
    found = (
        loading.join(trials.filter("valid").select("trial"), on="trial", how="semi")
        .group_by("stage", "workers", "rank", maintain_order=True)
        .agg(
            pl.col("node").drop_nulls().unique().sort().str.join(","),
            pl.len().alias("repeats"),
            (1 / patch_s.median()).alias("patches_per_s"),
            *(pl.col(f"free_{wait}").median().alias(wait) for wait in waits),
            pl.when(pl.col("pss_bytes").null_count() == 0).then(pl.col("pss_bytes").max()),
            pl.col("slides").max(),
        )
    )
    return found.select(pl.col(name).cast(kind) for name, kind in RANK_SCHEMA.items())


def _same_patches(loading: pl.DataFrame, points: pl.DataFrame) -> tuple[SamePatches, ...]:
    """Compare what points with different factories or readers delivered."""
    settings = {
        stage: json.loads(text)
        for stage, text in loading.select("stage", "settings").unique().iter_rows()
    }
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for point in points.filter(points["repeats"] > 0).iter_rows(named=True):
        own = settings[point["stage"]]
        key = (point["workers"], *(own.get(name) for name in DECIDING))
        groups.setdefault(key, []).append(point)
    return tuple(
        SamePatches(
            workers=group[0]["workers"],
            stages=tuple(point["stage"] for point in group),
            verdict=_verdict({point["checksum"] for point in group}),
        )
        for group in groups.values()
        if len({(point["factory"], point["reader"]) for point in group}) > 1
    )


def _verdict(checksums: set[str | None]) -> Literal["same", "different", "unknown"]:
    known = checksums - {None, DIFFERS}
    if len(known) > 1:
        return "different"
    return "same" if known == checksums else "unknown"


COMPARABLE = ("workers", "patch_px", "mpp")
"""What points have in common whose rates and diversities can be set beside each other: as many
ranks, and patches of the same size."""
SPEED, DIVERSITY = "patches_per_s", "effective_slides"


def with_front(points: pl.DataFrame, *, keep: float) -> pl.DataFrame:
    """Add `on_front` and `keeps_diversity`: the share `keep` of the largest of comparable points.

    A point is on the front unless a comparable one is at least as fast and as diverse, and better
    in one of both.
    """
    known = pl.col(SPEED).is_not_null() & pl.col(DIVERSITY).is_not_null()
    most = pl.col(DIVERSITY).filter(known).max().over(COMPARABLE)
    faster, diverse = pl.col(f"{SPEED}_other"), pl.col(f"{DIVERSITY}_other")
    as_good = (faster >= pl.col(SPEED)) & (diverse >= pl.col(DIVERSITY))
    better = (faster > pl.col(SPEED)) | (diverse > pl.col(DIVERSITY))
    numbered = points.with_row_index("_row")
    pairs = numbered.select("_row", *COMPARABLE, SPEED, DIVERSITY)
    beaten = (
        pairs.join(pairs, on=COMPARABLE, suffix="_other", nulls_equal=True)
        .filter(as_good & better)["_row"]
        .unique()
    )
    return numbered.with_columns(
        on_front=pl.when(known).then(~pl.col("_row").is_in(beaten.to_list())),
        keeps_diversity=pl.when(known).then(pl.col(DIVERSITY) >= keep * most),
    ).drop("_row")


@dataclass(frozen=True)
class Advised:
    """The fastest of comparable points that keeps a stated diversity; all are rows of the table."""

    row: Row
    fastest: Row
    """Whatever its diversity."""
    most_diverse: Row
    is_alone: bool
    """Whether nothing else can be compared with it."""
    as_fast: tuple[Row, ...]
    """Others that keep the diversity and whose interval overlaps with that of `row`, so that they
    may be as fast; all of them where intervals are not known."""

    @property
    def keeps(self) -> float:
        """Share of the largest diversity that it has."""
        return float(self.row[DIVERSITY] / self.most_diverse[DIVERSITY])

    @property
    def given_up(self) -> float:
        """Share of the largest rate that keeping the diversity costs."""
        return float(1 - self.row[SPEED] / self.fastest[SPEED])


def advised(points: pl.DataFrame) -> tuple[Advised, ...]:
    """Advise for each set of comparable points."""
    known = points.filter(pl.col("on_front").is_not_null()).sort("workers", maintain_order=True)
    return tuple(_advised(own) for own in known.partition_by(COMPARABLE, maintain_order=True))


def _advised(points: pl.DataFrame) -> Advised:
    # Of equally fast points the more diverse, and else the first of the suite.
    by_speed = points.sort(SPEED, DIVERSITY, descending=True, maintain_order=True)
    by_diversity = points.sort(DIVERSITY, SPEED, descending=True, maintain_order=True)
    # There is one at least, as the most diverse keeps its own diversity.
    chosen, *others = by_speed.filter("keeps_diversity").iter_rows(named=True)
    return Advised(
        row=chosen,
        fastest=by_speed.row(0, named=True),
        most_diverse=by_diversity.row(0, named=True),
        is_alone=points.height == 1,
        as_fast=tuple(other for other in others if _may_be_as_fast(other, chosen)),
    )


def _may_be_as_fast(other: Row, chosen: Row) -> bool:
    """Whether intervals overlap; nothing is ruled out where one is not known."""
    high, low = other[f"{SPEED}_high"], chosen[f"{SPEED}_low"]
    return high is None or low is None or bool(high >= low)
