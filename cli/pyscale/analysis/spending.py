"""Costs of trials: core-hours, GPU-hours, and money, also per unit of work."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Literal, Self

import polars as pl
from pydantic import Field, model_validator

from pyscale.analysis.losses import GROUP
from pyscale_stages.contract import Record

Held = Literal["task", "gang", "machine"]
"""How long workers hold their cores. "task": each until its own tasks end, as the jobs of an array
do. "gang": all until the slowest ends, and one for the merge. "machine": all until the trial ends,
as a workstation does, or one allocation for everything."""

COSTS = ("core_hours", "gpu_hours", "money")


class Prices(Record):
    """Prices of a site, or costs of a machine."""

    core_hour: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="Price of a core for an hour"
    )
    gpu_hour: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="Price of a GPU for an hour"
    )
    currency: str | None = Field(None, description="Unit of the prices, as in EUR")

    @property
    def is_given(self) -> bool:
        """Whether there is any price."""
        return self.core_hour is not None or self.gpu_hour is not None

    @model_validator(mode="after")
    def _have_a_unit(self) -> Self:
        if self.is_given and (self.currency or "").split() != [self.currency]:
            raise ValueError('prices need a currency in one word, such as currency = "EUR"')
        return self


def trial_costs(
    trials: pl.DataFrame, held: Held | None, prices: Prices | None = None
) -> pl.DataFrame:
    """Price every trial: add `held_s`, the worker-seconds that are paid for, and `COSTS`.

    `held` is what is held while workers wait for each other; None where that is not known, so that
    nothing is. Money is null where GPUs or cores are held, or may be, whose price is not known.
    """
    held_s = {
        "task": pl.col("busy_s"),
        "gang": pl.col("workers") * pl.col("slowest_s") + pl.col("merge_s"),
        "machine": pl.col("workers") * pl.col("wall_s"),
        None: pl.lit(None),
    }[held]
    prices = prices or Prices()
    return (
        trials.with_columns(held_s=held_s.cast(pl.Float64))
        .with_columns(
            core_hours=pl.col("held_s") * pl.col("requested_cpus") / 3600,
            gpu_hours=pl.col("held_s") * pl.col("requested_gpus") / 3600,
        )
        .with_columns(
            money=_charge("core_hours", prices.core_hour) + _charge("gpu_hours", prices.gpu_hour)
        )
    )


def held_on_one_machine(trials: pl.DataFrame, cpus_of: Mapping[str, int]) -> pl.DataFrame:
    """Give trials that asked nobody for cores or GPUs what each worker had for itself, if known."""
    alone = ~pl.col("oversubscribed")
    cpus = pl.col("stage").replace_strict(dict(cpus_of), default=None, return_dtype=pl.Int64)
    return trials.with_columns(
        requested_cpus=pl.when(alone).then(cpus),
        requested_gpus=pl.when(alone).then((pl.col("device") != "cpu").cast(pl.Int64)),
    )


def configuration_costs(trials: pl.DataFrame) -> pl.DataFrame:
    """Mean cost of each configuration's timed trials: costs add up (Hoefler and Belli 2015)."""
    # A mean over some trials would be a sum that leaves others out.
    means = {
        name: pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean())
        for name in (*COSTS, "work")
    }
    kinds = [
        (means[cost].alias(cost), (means[cost] / means["work"]).alias(f"{cost}_per_work"))
        for cost in COSTS
    ]
    return (
        trials.filter("valid").group_by(*GROUP, "workers", maintain_order=True).agg(chain(*kinds))
    )


def with_costs(
    configurations: pl.DataFrame,
    trials: pl.DataFrame,
    held: Held | None,
    prices: Prices | None = None,
) -> pl.DataFrame:
    """Give every configuration what it cost: `COSTS`, each also `*_per_work`, and `currency`."""
    one = [*GROUP, "workers"]
    currency = pl.lit(prices.currency if prices else None, dtype=pl.String)
    costs = configuration_costs(trial_costs(trials, held, prices)).with_columns(
        currency=pl.when(pl.col("money").is_not_null()).then(currency)
    )
    return configurations.join(costs, on=one, how="left", nulls_equal=True, maintain_order="left")


def _charge(hours: str, price: float | None) -> pl.Expr:
    """Price of what is held; nothing held costs nothing, whatever its price."""
    priced = pl.lit(None, dtype=pl.Float64) if price is None else pl.col(hours) * price
    return pl.when(pl.col(hours) == 0).then(0.0).otherwise(priced)
