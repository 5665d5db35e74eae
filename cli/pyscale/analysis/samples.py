"""What counts beside wall times: sampled of each trial, and compared alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from pyscale.analysis.aggregate import median_rate
from pyscale.analysis.align import align
from pyscale.analysis.judging import (
    MARGIN,
    NO_RATIO,
    OTHER_DIRECTION,
    OTHER_UNIT,
    OTHER_WORK,
)
from pyscale.analysis.ranks.components import EVERY, column
from pyscale.analysis.ranks.loader import loader_trials
from pyscale.analysis.ranks.reconstruct import reconstruct_trials
from pyscale.analysis.schema import REAL, TEXT, WHOLE, columns

Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class Measure:
    """What counts of one kind of work."""

    title: str
    unit: str
    trials: Callable[[pl.DataFrame], pl.DataFrame]
    """Gives a row for each trial from the stored table, with `valid` where it counts."""
    values: Mapping[str, str]
    """What is measured, and its column of the trials. The first decides; others tell why."""
    work: tuple[str, ...]
    """Columns of the stored table that are equal where trials did the same work."""
    better: Better = "lower"

    @property
    def primary(self) -> str:
        """The value that decides."""
        return next(iter(self.values))


MEASURES = {
    "loading": Measure(
        title="Loading patches",
        unit="patches/s",
        trials=loader_trials,
        values={"rate": "patches_per_s"},
        work=("patch_px", "mpp"),
        better="higher",
    ),
    "reconstruction": Measure(
        title="An iteration of reconstruction",
        unit="s",
        trials=reconstruct_trials,
        values={component: f"{column(component)}_s" for component in EVERY},
        work=("problem", "size_px"),
    ),
}
"""By the name of the table that a run stores."""
RATES = {kind for kind, measure in MEASURES.items() if measure.better == "higher"}
"""Kinds whose medians go by way of costs."""
MEASURED = "measured"
"""The kind of numbers that stages measure of their work, each with its own unit and direction."""
TITLE = "What stages measure"

UNLIKE = {"work": OTHER_WORK, "unit": OTHER_UNIT, "better": OTHER_DIRECTION}
"""Columns in which both sides must be equal to be compared, and the reason where they differ."""
KEY = ("kind", "value", "stage", "workers")
"""Columns that name what is compared in both runs."""


def samples(
    tables: Mapping[str, pl.DataFrame], measured: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Give every value of every trial that counts: `KEY`, `work` in words, `unit` and `better`.

    `tables` are the stored ones by their key of `MEASURES`; of them what took no time is left out:
    nothing can be so many times as long.
    """
    schema = columns(
        (TEXT, "kind value stage"), (WHOLE, "workers"), (TEXT, "work unit better"), (REAL, "amount")
    )
    found = [_samples(kind, table) for kind, table in tables.items() if not table.is_empty()]
    if measured is not None:
        found.append(
            measured.select(
                pl.lit(MEASURED).alias("kind"),
                pl.col("name").alias("value"),
                *("stage", "workers"),
                pl.lit("").alias("work"),
                *("unit", "better"),
                pl.col("value").alias("amount"),
            )
        )
    return pl.concat([pl.DataFrame(schema=schema), *found])


def _samples(kind: str, table: pl.DataFrame) -> pl.DataFrame:
    measure = MEASURES[kind]
    told = [pl.format(f"{name} {{}}", pl.col(name)) for name in measure.work]
    work = table.group_by("trial").agg(
        pl.concat_str(told, separator=", ", ignore_nulls=True).first().alias("work")
    )
    return (
        measure.trials(table)
        .filter("valid")
        .select(
            "trial", "stage", "workers", **{n: pl.col(own) for n, own in measure.values.items()}
        )
        .unpivot(
            list(measure.values),
            index=["trial", "stage", "workers"],
            variable_name="value",
            value_name="amount",
        )
        .filter(pl.col("amount") > 0)
        .join(work, on="trial", how="left", maintain_order="left")
        .select(
            pl.lit(kind).alias("kind"),
            *(*KEY[1:], "work"),
            pl.lit(measure.unit).alias("unit"),
            pl.lit(measure.better).alias("better"),
            pl.col("amount").cast(REAL),
        )
    )


def compared_samples(
    base: pl.DataFrame, new: pl.DataFrame, *, at_least: float = MARGIN
) -> pl.DataFrame:
    """Judge every value that either run has, by the statistics of `judge`.

    Equal values of one kind are judged together, so that any wrong verdict among them is rare. The
    ratio is that of the amounts.
    """
    sides = [_by_key(side) for side in (base, new)]
    keys = dict.fromkeys([*sides[0], *sides[1]])
    both = [key for key in keys if all(key in side for side in sides)]
    why_not = {key: _why_unlike(*(side[key] for side in sides)) for key in both}
    alike = [key for key, reason in why_not.items() if reason is None]
    rows = align(
        KEY,
        tuple({key: _told(key, told) for key, told in side.items()} for side in sides),
        {key: tuple(_costs(side[key]) for side in sides) for key in alike},
        order=_in_order(list(keys)),
        family=lambda key: (*key[:2], sides[0][key]["better"]),
        unlike={key: reason for key, reason in why_not.items() if reason is not None},
        at_least=at_least,
    )
    for row in rows:
        key = tuple(row[n] for n in KEY)
        units, directions = (
            [side[key][n] for side in sides if key in side] for n in ("unit", "better")
        )
        # Neither of two units holds for both amounts.
        row["unit"] = units[0] if len(set(units)) == 1 else None
        row["better"] = next(filter(None, directions), None)
        if row["better"] == "higher" and row.get("ratio") is not None:
            # Costs were judged, whose ratio is that of rates turned round.
            turned = {"ratio": "ratio", "ratio_low": "ratio_high", "ratio_high": "ratio_low"}
            row.update({end: row[own] and 1 / row[own] for end, own in turned.items()})
    schema = columns(
        (TEXT, "kind value stage"),
        (WHOLE, "workers"),
        (TEXT, "unit better base_work new_work"),
        (WHOLE, "base_repeats new_repeats"),
        (REAL, "base_amount new_amount ratio ratio_low ratio_high p_adjusted p_beyond"),
        (TEXT, "verdict reason"),
    )
    return pl.DataFrame(rows, schema, orient="row")


def is_primary() -> pl.Expr:
    """Whether a row is of a value that decides of its kind: a number needs a direction for that."""
    return pl.any_horizontal(
        (pl.col("kind") == MEASURED) & pl.col("better").is_not_null(),
        *(
            (pl.col("kind") == kind) & (pl.col("value") == measure.primary)
            for kind, measure in MEASURES.items()
        ),
    )


def _by_key(table: pl.DataFrame) -> dict[tuple[Any, ...], dict[str, Any]]:
    told = (pl.col(name).first() for name in ("work", "unit", "better"))
    grouped = table.group_by(KEY, maintain_order=True).agg(*told, "amount")
    return {tuple(row[name] for name in KEY): row for row in grouped.to_dicts()}


def _why_unlike(base: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    unlike = (reason for name, reason in UNLIKE.items() if base[name] != new[name])
    has_ratio = min(*base["amount"], *new["amount"]) > 0
    return next(unlike, None if has_ratio else NO_RATIO)


def _in_order(keys: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Kind by kind and stage by stage as they come, by rising N, the value that decides first."""
    stages = list(dict.fromkeys((kind, stage) for kind, _, stage, _ in keys))
    values = {kind: list(measure.values) for kind, measure in MEASURES.items()}
    values[MEASURED] = list(dict.fromkeys(key[1] for key in keys))
    return sorted(
        keys,
        key=lambda key: (
            list(values).index(key[0]),
            stages.index((key[0], key[2])),
            key[3],
            values[key[0]].index(key[1]),
        ),
    )


def _told(key: tuple[Any, ...], side: Mapping[str, Any]) -> dict[str, Any]:
    """What a side tells of a value in a comparison."""
    middle = median_rate if key[0] in RATES else pl.Series.median
    amounts = side["amount"]
    return {
        "work": side["work"],
        "repeats": len(amounts),
        "amount": middle(pl.Series(amounts)),
    }


def _costs(side: Mapping[str, Any]) -> list[float]:
    """Times, of which a longer one is slower."""
    amounts = side["amount"]
    return [1 / amount for amount in amounts] if side["better"] == "higher" else amounts
