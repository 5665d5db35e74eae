"""Every flag of every kind of result, as flags.toml declares them."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from importlib.resources import files
from typing import Any, Literal

import polars as pl
from pydantic import Field

from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.losses import GROUP
from pyscale.analysis.workers import CLOCK_TOLERANCE_S
from pyscale_stages.contract import Record
from pyscale_stages.reconstruction import DENOISER_TOLERANCE, GRADIENT_TOLERANCE

Weight = Literal["invalid", "unchecked", "doubt", "neutral"]


class Flag(Record):
    """A doubt about a number, as flags.toml declares it."""

    weight: Weight
    another_n: bool = Field(
        False,
        description="Whether another N could be the best in truth; others cost precision alone, or "
        "are a configuration's end",
    )
    share: float | None = Field(None, description="From which, or below which, it is raised")
    short: str = Field(description="In a few words")
    sentence: str


_NUMBERS = {
    "repeats": str(repeats_needed()),
    "clock_tolerance": f"{CLOCK_TOLERANCE_S:g} s",
    "gradient": f"{GRADIENT_TOLERANCE:g}",
    "denoiser": f"{DENOISER_TOLERANCE:g}",
}
"""What sentences name, beside the share of their own flag as `{share}`."""


def _declared() -> dict[str, Flag]:
    text = (files("pyscale.analysis") / "flags.toml").read_text("utf-8")
    return {
        code: Flag(**own | {name: _filled(own, name) for name in ("short", "sentence")})
        for code, own in tomllib.loads(text).items()
    }


def _filled(own: Mapping[str, Any], name: str) -> str:
    text: str = own[name]
    return text.format(**_NUMBERS, share=f"{100 * own.get('share', 0):g} %")


FLAGS = _declared()
"""In the order in which every table and text has them."""
SHARES = {code: flag.share for code, flag in FLAGS.items() if flag.share is not None}
"""Shares of the flags that have one."""
SENTENCES = {code: flag.sentence for code, flag in FLAGS.items()}


def of_weight(weight: Weight) -> frozenset[str]:
    """Codes of all flags of one weight."""
    return frozenset(code for code, flag in FLAGS.items() if flag.weight == weight)


INVALIDATING, UNCHECKED = of_weight("invalid"), of_weight("unchecked")
DOUBTFUL = tuple(code for code, flag in FLAGS.items() if flag.another_n)


def raised(holds: Mapping[str, object]) -> list[str]:
    """Codes of the flags that hold, in the order of `FLAGS`."""
    unknown = holds.keys() - FLAGS.keys()
    # A misspelt code would never be shown.
    if unknown:
        raise KeyError(f"not in the list of flags: {', '.join(sorted(unknown))}")
    return [code for code in FLAGS if holds.get(code)]


def flags_of(row: Mapping[str, Any]) -> list[str]:
    """Codes of all flags of a row, which are a list, or joined by commas."""
    flags = row["flags"] or []
    return [code for code in flags.split(",") if code] if isinstance(flags, str) else list(flags)


OF_TRIALS = frozenset(
    {
        *("oversubscribed", "disturbed", "workers-did-not-overlap", "workers-in-turn"),
        *("clocks-disagree", "retried"),
        *("failed-trials", "mixed-hardware", "disagrees", "check-failed"),
    }
)
"""Flags of trials that matter whatever is measured in them: not those on wall times and inputs."""


def flags_of_trials(configurations: pl.DataFrame, stages: Iterable[str]) -> list[str]:
    """Codes of `OF_TRIALS` that the trials of some entries raise, in the order of `FLAGS`."""
    own = configurations.filter(pl.col("stage").is_in(list(stages)))
    found = OF_TRIALS.intersection(own["flags"].explode().drop_nulls())
    return [code for code in FLAGS if code in found]


def is_invalid(codes: Collection[str]) -> bool:
    """Whether a configuration with these doubts must not be compared with its baseline."""
    return not INVALIDATING.isdisjoint(codes)


def without_invalid(trials: pl.DataFrame, configurations: pl.DataFrame) -> pl.DataFrame:
    """Leave out the trials of invalid configurations, as the table made of them says."""
    one = [*GROUP, "workers"]
    invalid = configurations.filter("invalid").select(one)
    return trials.join(invalid, on=one, how="anti", nulls_equal=True, maintain_order="left")
