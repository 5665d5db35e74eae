"""Which configurations are faster or slower in one set of trials than in another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pyscale.analysis.drift import drifts
from pyscale.analysis.intervals import CONFIDENCE, Interval, ratio_interval, repeats_needed
from pyscale.analysis.scaling import configurations

if TYPE_CHECKING:
    import polars as pl

KEY = ("stage", "device", "workers")
"""Columns that name a configuration in both runs. The suite does not: its name changes no time,
and a table of wall times is named after its file."""

MARGIN = 0.05
"""Largest change of a median that `same` allows: up to 1.05 times, or the 1.05th part."""

FALSE_ALARMS = 1 - CONFIDENCE
"""Largest probability of any `worse` where nothing has changed; and of any `better`."""

EXACT_PAIRS = 10_000
"""Largest product of two arms' sizes for which the test counts all orders; that takes 30 ms at
100 against 100 and half a minute at 300 against 300, where the normal law is as good."""

PERMUTATIONS = 9999

REASONS = {
    "few-trials": (
        f"Fewer than {repeats_needed()} trials were timed in one of the two, too few for an "
        "interval and for a verdict."
    ),
    "many-configurations": (
        "So many configurations are tested at once that with this number of trials no difference, "
        "however large, could be told from chance: time more trials or compare fewer "
        "configurations."
    ),
    "unsettled": (
        f"No difference can be told from chance, and one of more than {100 * MARGIN:g} % cannot be "
        "excluded: more trials would tell."
    ),
}
"""Why there is not enough data."""

OTHER_WORK = "other-work"
"""Reason where N workers had not as much to do in both, so that nothing is judged."""

Arms = tuple[Sequence[float], Sequence[float]]
"""Wall times of the base and of the new trials of one configuration."""


class Judgement(NamedTuple):
    """What two arms of one configuration show."""

    verdict: str
    """`better`, `worse`, `same` or `not enough data`."""
    reason: str | None = None
    """Key of `REASONS` where there is not enough data."""
    ratio: float | None = None
    """Median of the new wall times over that of the base."""
    interval: Interval | None = None
    p_adjusted: float | None = None
    """Of the test in the ratio's direction, by Holm's method over all tested configurations."""


def judge(configurations: Sequence[Arms]) -> list[Judgement]:
    """Judge all configurations of a comparison together.

    `same`: the 95 % interval of the ratio of medians lies within `1/1.05 … 1.05`, a difference
    so small that it does not matter, even where it is certain. `worse` and `better`: else, where
    the one-sided Mann-Whitney test of that direction, adjusted by Holm's method (1979) over all
    configurations that have enough trials, has p <= 0.05, and the interval leaves 1 out. All
    else is `not enough data`: fewer than 6 trials in an arm, or an interval too wide to exclude
    a difference where none was found.

    What is controlled is the family: where no configuration has changed, the probability that
    any of them is called worse is at most 5 %, whatever the distribution of wall times and
    however the configurations depend on each other; where some have, the same holds for the
    others. The same is true of `better`. `same` is controlled one by one, at the nominal coverage
    of the bootstrap: where the true ratio lies at the margin or beyond, it is said in about 2.5 %
    of cases.

    Parameters
    ----------
    configurations : sequence of pairs of sequences of float
        Wall times of the base and of the new trials of each. The order of trials does not
        matter: two runs have no blocks in common.

    Returns
    -------
    list of Judgement
        In the order of `configurations`.
    """
    arms = [(sorted(base), sorted(new)) for base, new in configurations]
    tested = [place for place, pair in enumerate(arms) if min(map(len, pair)) >= repeats_needed()]
    slower = holm([_p_slower(*arms[place]) for place in tested])
    faster = holm([_p_slower(*reversed(arms[place])) for place in tested])
    p_values = dict(zip(tested, zip(slower, faster, strict=True), strict=True))
    return [_judgement(*pair, p_values.get(place), len(tested)) for place, pair in enumerate(arms)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that those <= a hold together with error probability a (Holm 1979)."""
    adjusted = [0.0] * len(p_values)
    reached = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = reached
    return adjusted


def comparison(base: pl.DataFrame, new: pl.DataFrame, *, interleaved: bool = True) -> pl.DataFrame:
    """Compare two tables of trials, configuration by configuration.

    Parameters
    ----------
    base, new : polars.DataFrame
        As `trial_table` or `trials_from_wall_times` gives them. Only timed trials enter.
    interleaved : bool
        Whether both are runs of pyscale, as `configurations` asks.

    Returns
    -------
    polars.DataFrame
        One row per configuration of either table, in the order of `base`, then of `new`:

        stage, device : str
        workers : int
        base_repeats, new_repeats : int
            Timed trials; null where that table does not have the configuration.
        base_wall_s, new_wall_s : float
            Median wall times.
        ratio, ratio_low, ratio_high : float
            New over base, above 1 slower, with its bootstrap interval.
        p_adjusted : float
            Of the Mann-Whitney test in the direction of the ratio, by Holm's method.
        verdict, reason : str
            See `judge`; null where only one table has the configuration.
        base_flags, new_flags : list of str
            Codes whose sentences are `pyscale.analysis.flags.SENTENCES`.
        base_invalid, new_invalid : bool
            Whether the output is not that of the baseline in the same table.
        base_quality, new_quality : str
            JSON object: median of each measure against the truth.
    """
    tables = (
        configurations(trials, interleaved=interleaved, drifts=drifts(trials))
        for trials in (base, new)
    )
    return compared(base, new, *tables)


def compared(
    base: pl.DataFrame, new: pl.DataFrame, base_table: pl.DataFrame, new_table: pl.DataFrame
) -> pl.DataFrame:
    """Compare two tables of trials whose configurations are summarised already.

    Parameters
    ----------
    base, new : polars.DataFrame
        Trials, as `comparison` takes them.
    base_table, new_table : polars.DataFrame
        What `configurations` makes of them.

    Returns
    -------
    polars.DataFrame
        As `comparison` gives it. Where N workers had other work in the two, the verdict is null
        and the reason `other-work`.
    """
    import polars as pl

    sides = {"base": _by_key(base_table), "new": _by_key(new_table)}
    unlike = set(other_work(base, new).select("stage", "workers").iter_rows())
    both = [key for key in sides["base"] if key in sides["new"]]
    shared = [(stage, device, n) for stage, device, n in both if (stage, n) not in unlike]
    walls = {name: _wall_times(trials) for name, trials in (("base", base), ("new", new))}
    judged = judge([(walls["base"].get(key, []), walls["new"].get(key, [])) for key in shared])
    judgements = dict(zip(shared, judged, strict=True))
    rows: list[dict[str, Any]] = []
    for key in dict.fromkeys([*sides["base"], *sides["new"]]):
        row: dict[str, Any] = dict(zip(KEY, key, strict=True))
        for name, side in sides.items():
            own = side.get(key, {})
            row |= {f"{name}_{column}": own.get(column) for column in _OF_A_SIDE}
        if key in judgements:
            row |= _cells(judgements[key])
        elif key in both:
            row["reason"] = OTHER_WORK
        rows.append(row)
    return pl.DataFrame(rows, schema=_schema())


def other_work(base: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Find the N whose workers had more to do in one of two tables of trials than in the other.

    Returns
    -------
    polars.DataFrame
        `stage, workers, work, work_right`: median work of the timed trials of base and of new.
        Work that is not known is not told to be another.
    """
    import polars as pl

    one = ["stage", "workers"]
    done, done_new = (
        side.filter("valid").group_by(one).agg(pl.col("work").median()) for side in (base, new)
    )
    return done.join(done_new, on=one).filter(pl.col("work") != pl.col("work_right")).sort(one)


_OF_A_SIDE = ("repeats", "wall_s", "flags", "invalid", "quality")


def _by_key(table: pl.DataFrame) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row[column] for column in KEY): row for row in table.to_dicts()}


def _wall_times(trials: pl.DataFrame) -> dict[tuple[Any, ...], list[float]]:
    timed = trials.filter("valid")
    return {key: own["wall_s"].to_list() for key, own in timed.group_by(KEY)}


def _cells(judgement: Judgement) -> dict[str, Any]:
    interval = judgement.interval
    return {
        "ratio": judgement.ratio,
        "ratio_low": interval.low if interval else None,
        "ratio_high": interval.high if interval else None,
        "p_adjusted": judgement.p_adjusted,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
    }


def _judgement(
    base: Sequence[float], new: Sequence[float], p_values: tuple[float, float] | None, tested: int
) -> Judgement:
    """Judge one configuration by its adjusted p-values for slower and for faster."""
    from statistics import median

    ratio = median(new) / median(base) if base and new else None
    interval = ratio_interval(new, base, paired=False)
    if ratio is None or interval is None or p_values is None:
        return Judgement("not enough data", "few-trials", ratio)
    p_adjusted = p_values[0] if ratio >= 1 else p_values[1]
    found = (ratio, interval, p_adjusted)
    if interval.low >= 1 / (1 + MARGIN) and interval.high <= 1 + MARGIN:
        return Judgement("same", None, *found)
    if p_adjusted <= FALSE_ALARMS and not interval.low <= 1 <= interval.high:
        return Judgement("worse" if ratio > 1 else "better", None, *found)
    # Of all orders of these trials, one is the most extreme.
    hopeless = tested > FALSE_ALARMS * math.comb(len(base) + len(new), len(base))
    return Judgement("not enough data", "many-configurations" if hopeless else "unsettled", *found)


def _p_slower(base: Sequence[float], new: Sequence[float]) -> float:
    """One-sided Mann-Whitney test that `new` takes longer; by permutation where values tie."""
    import numpy as np
    from scipy.stats import PermutationMethod, mannwhitneyu

    method: Any = "exact"
    if len(base) * len(new) > EXACT_PAIRS:
        method = "asymptotic"
    elif len({*base, *new}) < len(base) + len(new):
        # With ties neither of the two laws holds: in small arms the normal one errs towards
        # finding a difference.
        method = PermutationMethod(n_resamples=PERMUTATIONS, random_state=np.random.default_rng(0))
    return float(mannwhitneyu(new, base, alternative="greater", method=method).pvalue)


def _schema() -> dict[str, Any]:
    import polars as pl

    number, text, flags = pl.Float64, pl.String, pl.List(pl.String)
    return {
        "stage": text,
        "device": text,
        "workers": pl.Int64,
        "base_repeats": pl.Int64,
        "new_repeats": pl.Int64,
        "base_wall_s": number,
        "new_wall_s": number,
        "ratio": number,
        "ratio_low": number,
        "ratio_high": number,
        "p_adjusted": number,
        "verdict": text,
        "reason": text,
        "base_flags": flags,
        "new_flags": flags,
        "base_invalid": pl.Boolean,
        "new_invalid": pl.Boolean,
        "base_quality": text,
        "new_quality": text,
    }
