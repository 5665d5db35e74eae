"""Tests of a machine: one row for each over processes and trials, and which nodes stand apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl

from pyscale.analysis.aggregate import medians
from pyscale.analysis.declared import FLAG, REAL, TEXT, TEXTS, WHOLE, columns
from pyscale.analysis.findings import Findings
from pyscale.analysis.flags import FLAGS
from pyscale.analysis.intervals import repeats_needed
from pyscale_stages.residency import LEAST_PROVED_FIRST

SLOW, FAST = 0.8, 1.25
"""Ratios to the median of all nodes beyond which a node is no ordinary one."""
LEAST_NODES = 3
"""Of two nodes that differ, nobody can say which is the ordinary one."""
TEST = ("kind", "stage", "workers", "device", "test", "step", "at_once")


def node_comparison(tests: pl.DataFrame) -> pl.DataFrame:
    """Set each node beside the median of all that did the same test."""
    wall_s = {end: pl.col(f"wall_s{end}") for end in ("", "_low", "_high")}
    told = pl.col("rate").is_not_null()
    timed = tests.filter(
        "whole",
        pl.col("wall_s").is_not_null(),
        pl.col("node").is_not_null(),
        ~pl.col("flags").list.contains("disagrees"),
    ).with_columns(
        unit=pl.when(told).then("unit"),
        # Without an amount the inverse of the time will do, as all nodes did the same test.
        rate=pl.when(told).then("rate").otherwise(1 / wall_s[""]),
        rate_low=pl.when(told).then("rate_low").otherwise(1 / wall_s["_high"]),
        rate_high=pl.when(told).then("rate_high").otherwise(1 / wall_s["_low"]),
    )
    median = pl.col("median_rate")
    known = (pl.col("nodes") >= LEAST_NODES) & pl.col("ratio_low").is_not_null()
    # An outlier is far from the median, and by more than its own trials scatter.
    slow = (pl.col("ratio") < SLOW) & (pl.col("ratio_high") < 1)
    fast = (pl.col("ratio") > FAST) & (pl.col("ratio_low") > 1)
    return (
        timed.with_row_index("order")
        .with_columns(
            order=pl.col("order").min().over(TEST),
            nodes=pl.col("node").n_unique().over(TEST).cast(pl.Int64),
            median_rate=pl.col("rate").median().over(TEST),
        )
        .filter(pl.col("nodes") > 1)
        .with_columns(
            ratio=pl.col("rate") / median,
            ratio_low=pl.col("rate_low") / median,
            ratio_high=pl.col("rate_high") / median,
        )
        .with_columns(outlier=pl.when(known).then(slow | fast))
        .sort("order", maintain_order=True)
        .select(pl.col(name).cast(kind) for name, kind in NODE_SCHEMA.items())
    )


NODE_SCHEMA = columns(
    (TEXT, "kind stage"),
    (WHOLE, "workers"),
    (TEXT, "device test step"),
    (WHOLE, "at_once"),
    (TEXT, "node hardware"),
    (WHOLE, "nodes"),
    (TEXT, "unit"),
    (REAL, "rate median_rate ratio ratio_low ratio_high"),
    (FLAG, "outlier"),
)


@dataclass(frozen=True)
class MachineFindings(Findings):
    """Findings of a run's machine stages."""

    kind: ClassVar = "machine"
    work: ClassVar = "each"

    tests: pl.DataFrame
    """A row for each test and step."""
    nodes: pl.DataFrame
    """Node beside node, for tests that several did."""
    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By node: what was said of the folder that was measured and of the devices, like
    `place_filesystem` or `cache_method`."""
    measuring: frozenset[str] = frozenset()
    """Entries of the suite that measure the machine and read no movie: they are in the tables of
    trials and configurations, but N workers share no work there, so that nothing is said of how
    they scale."""
    sizes: Mapping[str, str] = field(default_factory=dict)
    """By such an entry: fingerprint of how large what it works on is, by which equal work is told
    (see `pyscale.references.workid.size_ids_of`)."""

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Tests and nodes."""
        return {"tests": self.tests, "nodes": self.nodes}

    @property
    def entries(self) -> frozenset[str]:
        """Entries that measure the machine, whether or not anything was timed."""
        return self.measuring


def machine_findings(
    timings: pl.DataFrame,
    places: Mapping[str, Mapping[str, str]],
    *,
    measuring: Collection[str],
    sizes: Mapping[str, str] | None = None,
) -> MachineFindings | None:
    """Find what the machine stages of a run tell; None where no entry measures the machine."""
    if not measuring:
        return None
    tests = machine_tests(timings)
    return MachineFindings(
        tests=tests,
        nodes=node_comparison(tests),
        places=places,
        measuring=frozenset(measuring),
        sizes=sizes or {},
    )


ON = ("kind", "stage", "workers", "node", "hardware", "device")
"""Whose tests these are."""
KEYS = (*ON, "test", "step", "at_once")
LATENCIES = ("latency_p50_s", "latency_p95_s", "latency_p99_s", "reads_per_s")


def with_details(timings: pl.DataFrame) -> pl.DataFrame:
    """Add numbers that details tell, whether a row is a `first` call, and a rank for `cache`."""
    told = pl.Struct(dict.fromkeys(("first_call", *LATENCIES, "error", "tolerance"), pl.Float64))
    return (
        timings.with_row_index("order")
        .with_columns(pl.col("details").str.json_decode(told).alias("told"))
        .unnest("told")
        .with_columns(
            first=pl.col("first_call").fill_null(0) == 1,
            proved=pl.col("cache").replace_strict(
                {state: place for place, state in enumerate(LEAST_PROVED_FIRST)},
                return_dtype=pl.Int64,
            ),
        )
    )


_AMOUNT = pl.col("amount")
TAKEN_TOGETHER = (
    pl.col("first_s", *LATENCIES).median(),
    pl.col("calls").sum(),
    # What did not always do the same has no common rate.
    pl.when(_AMOUNT.n_unique() == 1).then(_AMOUNT.first()).alias("amount"),
)
"""Of repeats, processes and trials alike, beside their times."""


def process_medians(timings: pl.DataFrame) -> pl.DataFrame:
    """Sum up the repeats of each process, a row for each test that it timed.

    What a process keeps, and the minutes in which it ran, are in all of its repeats, so that these
    tell nothing of how much another process would differ. `first_s` is of its first call, `wall_s`
    the median of its other `calls`; of `cache` the state of which least was proved stands.
    """
    later = ~pl.col("first")
    calls = with_details(timings.filter(pl.col("wall_s").is_not_null())).with_columns(
        pl.when(later).then(pl.col("wall_s", *LATENCIES)),
        first_s=pl.when("first").then("wall_s"),
        calls=later.cast(pl.Int64),
    )
    return calls.group_by(*KEYS, "trial", "task", maintain_order=True).agg(
        pl.col("wall_s").median(),
        *TAKEN_TOGETHER,
        pl.col("unit", "bottleneck").drop_nulls().first(),
        pl.col("cache").sort_by("proved").drop_nulls().first(),
    )


def trial_medians(timings: pl.DataFrame) -> pl.DataFrame:
    """Sum up the processes of each trial: those that measured a node at once shared its moments."""
    processes = process_medians(timings).group_by(*KEYS, "trial", maintain_order=True)
    return processes.agg(pl.col("wall_s").median(), *TAKEN_TOGETHER)


TEST_SCHEMA = columns(
    (TEXT, "kind stage"),
    (WHOLE, "workers"),
    (TEXT, "node hardware device test step"),
    (WHOLE, "at_once"),
    (FLAG, "whole"),
    (WHOLE, "processes repeats calls"),
    (REAL, "first_s wall_s wall_s_low wall_s_high amount"),
    (TEXT, "unit"),
    (REAL, "rate rate_low rate_high percent"),
    (TEXT, "bottleneck cache"),
    (REAL, "latency_p50_s latency_p95_s latency_p99_s iops error tolerance"),
    (TEXT, "why_not"),
    (TEXTS, "flags"),
)


DRAWN = ("storage", "decompress")
"""Stages that draw the order of their tests: theirs are told by name."""


def machine_tests(timings: pl.DataFrame) -> pl.DataFrame:
    """Sum up each test, followed by its steps: over repeats of a process, then over processes."""
    found = (
        with_details(timings)
        .group_by(KEYS, maintain_order=True)
        .agg(*_sums())
        .join(_over_trials(timings), on=KEYS, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(
            pl.col("repeats", "calls").fill_null(0),
            # Or a step of a test that is timed in steps alone, as reading and decoding are.
            whole=pl.col("step").is_null() | ~pl.col("step").is_null().any().over(*ON, "test"),
        )
        .with_columns(bottleneck=_bottleneck())
    )
    return (
        _sorted(found)
        .with_columns(percent=_percent())
        .with_columns(flags=_flags())
        .select(pl.col(name).cast(kind) for name, kind in TEST_SCHEMA.items())
    )


def _sums() -> list[pl.Expr]:
    timed = pl.col("wall_s").is_not_null()
    trials = pl.col("trial").n_unique().cast(pl.Int64)
    tasks = pl.struct("trial", "task").n_unique().cast(pl.Int64)
    # An error that is no number is left out of the record; what is allowed is not.
    is_wrong = pl.col("error").is_null() | (pl.col("error") > pl.col("tolerance"))
    return [
        pl.col("order").first(),
        # Rounded up: a trial that lost a process does not make the others fewer.
        (-(-tasks // trials)).alias("processes"),
        pl.col("wall_s").filter(timed & ~pl.col("first")).sum().alias("total_s"),
        pl.col("unit", "bottleneck").drop_nulls().first(),
        pl.col("cache").sort_by("proved").drop_nulls().first(),
        pl.col("error").max(),
        pl.col("tolerance").min(),
        (pl.col("tolerance").is_not_null() & is_wrong).any().alias("wrong"),
        pl.when(~timed.any())
        .then(pl.col("why_not").filter(pl.col("why_not") != "").first())
        .fill_null("")
        .alias("why_not"),
    ]


def _over_trials(timings: pl.DataFrame) -> pl.DataFrame:
    repeats = pl.col("wall_s").count().cast(pl.Int64).alias("repeats")
    return (
        medians(trial_medians(timings), KEYS, "wall_s", beside=(*TAKEN_TOGETHER, repeats))
        .rename({"reads_per_s": "iops"})
        .with_columns(
            rate=pl.col("amount") / pl.col("wall_s"),
            rate_low=pl.col("amount") / pl.col("wall_s_high"),
            rate_high=pl.col("amount") / pl.col("wall_s_low"),
        )
    )


def _bottleneck() -> pl.Expr:
    """Likely bottleneck of a test: that of its longest step, where steps were timed."""
    steps = pl.col("step").is_not_null() & (pl.col("total_s") > 0)
    of_longest = pl.col("bottleneck").filter(steps).sort_by(pl.col("total_s").filter(steps)).last()
    is_whole = pl.col("step").is_null()
    known = pl.coalesce(of_longest.over(*ON, "test", "at_once"), "bottleneck")
    return pl.when(is_whole).then(known).otherwise("bottleneck")


def _sorted(found: pl.DataFrame) -> pl.DataFrame:
    as_noted = pl.col("order").min().over(*ON, "test")
    return found.sort(
        pl.col("order").min().over(ON),
        pl.when(~pl.col("kind").is_in(DRAWN)).then(as_noted),
        "test",
        "at_once",
        pl.col("step").is_not_null(),
        "order",
    )


def _percent() -> pl.Expr:
    wall_s = pl.col("wall_s")
    all_of_kind = wall_s.filter("whole").sum().over("kind", "workers", "node", "device")
    # Sums over repeats, as parts of a sum add up to it, and medians of parts to no median.
    total_s = pl.col("total_s")
    own_test = total_s.filter(pl.col("step").is_null()).first().over(*ON, "test", "at_once")
    timed = pl.when(wall_s.is_not_null())
    return timed.then(pl.when("whole").then(wall_s / all_of_kind).otherwise(total_s / own_test))


def _flags() -> pl.Expr:
    repeats, cache = pl.col("repeats"), pl.col("cache")
    holds = {
        "few-repeats": (repeats > 0) & (repeats < repeats_needed()),
        "first-call-only": (repeats == 0) & pl.col("first_s").is_not_null(),
        "warm-not-cold": pl.col("test").str.ends_with("_cold") & (cache == "warm"),
        "evicted-unverified": cache == "evicted-unverified",
        "cache-uncontrolled": cache == "unsupported",
        "steps-overlap": pl.col("step").is_not_null() & ~pl.col("whole") & (pl.col("at_once") > 1),
        "disagrees": pl.col("wrong"),
    }
    codes = [pl.when(holds[code]).then(pl.lit(code)) for code in FLAGS if code in holds]
    return pl.concat_list(codes).list.drop_nulls()
