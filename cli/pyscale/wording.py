"""Numbers as people read them: three digits, an interval beside, a dash for what is absent."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")
ABSENT = "-"
INVALID = "invalid"
"""Of a configuration of which no ratio holds (see `pyscale.analysis.flags`)."""


def number(value: float | None) -> str:
    """Print three significant digits, but never round the digits before the point."""
    if value is None:
        return ABSENT
    if value == 0:
        return "0"
    if abs(value) < 1e-4:
        return f"{value:.2e}"
    # Rounding first keeps 9.996 from becoming "10.00", with a digit too many.
    magnitude = math.floor(math.log10(abs(float(f"{value:.2e}"))))
    return f"{value:.{max(0, 2 - magnitude)}f}"


def coarse(value: float | None) -> str:
    """Print three digits and at most two decimals: waiting is not known to the millisecond."""
    return f"{value:.2f}" if value and abs(value) < 1 else number(value)


def seconds(value: float) -> str:
    """Print worker-seconds; what lies below the clocks' microsecond is nothing."""
    return number(round(value, 6))


def growth(value: float) -> str:
    """Print a difference of worker-seconds with its sign."""
    if not round(value, 6):
        return "0"
    return f"{'+' if value > 0 else '-'}{seconds(abs(value))}"


def amount(work: float) -> str:
    """Print frames as the whole numbers that they are."""
    return f"{work:.0f}" if work.is_integer() else number(work)


def ratio(value: float | None) -> str:
    """Print two decimals, as speedups and shares are compared."""
    return ABSENT if value is None else f"{value:.2f}"


def score(value: float | None) -> str:
    """Print an agreement; it says 1 only where it is 1."""
    if value is None:
        return ABSENT
    return "1" if value == 1 else f"{min(value, 0.9999):.4f}"


def score_below(value: float, tolerance: float) -> str:
    """Print an agreement that is too low with so many digits that it is seen to be."""
    for decimals in range(4, 17):
        text = f"{value:.{decimals}f}"
        if float(text) < tolerance:
            return text
    return repr(value)


def agreement(row: Mapping[str, float | None]) -> str:
    """Agreement of a configuration; `=` says that the bytes are the baseline's too."""
    return f"{score(row['agreement'])} =" if row["identical"] else score(row["agreement"])


def percent(value: float | None) -> str:
    """Print a share in whole percent."""
    return ABSENT if value is None else f"{100 * value:.0f} %"


def resampled_share(value: float | None) -> str:
    """Print a share of resamples in whole percent, rounded down."""
    # Sure from 95 % on must not read "95 %" below it; floats of whole percents may lie a bit below.
    return ABSENT if value is None else f"{math.floor(100 * value + 1e-6)} %"


def gib(size_bytes: int | None) -> str:
    """Print memory in GiB; requests are whole numbers of them, and look like it."""
    if size_bytes is None:
        return ABSENT
    whole, rest = divmod(size_bytes, 2**30)
    return coarse(size_bytes / 2**30) if rest else str(whole)


def interval(row: Mapping[str, Any], column: str, written: Callable[[Any], str]) -> str:
    """Write a number of a row with its interval, where it has one."""
    text, low, high = (written(row[f"{column}{end}"]) for end in ("", "_low", "_high"))
    return text if ABSENT in {low, high} else f"{text} [{low}, {high}]"


def quality(record: str) -> str:
    """Measures of a JSON object as `name value`, joined by commas."""
    measures = json.loads(record)
    return ", ".join(f"{name} {number(value)}" for name, value in measures.items()) or ABSENT


def listing(words: Iterable[object]) -> str:
    """Join words as a sentence lists them."""
    texts = [str(word) for word in words]
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Collect the values of each key, both in their order."""
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def at_each_n(pairs: Iterable[tuple[str, int]]) -> list[str]:
    """Name configurations, each name once with all its N."""
    return [f"{name} at N = {listing(counts)}" for name, counts in grouped(pairs).items()]


def titled(text: str) -> str:
    """Begin with a capital, and leave the rest as it is."""
    return f"{text[:1].upper()}{text[1:]}"


def of_each(counts: Iterable[int]) -> str:
    """Say how many timed trials there are of each of some configurations."""
    ends = sorted({min(counts := [*counts]), max(counts)})
    return f"{' to '.join(map(str, ends))} timed trial{'s' * (ends != [1])} of each"


def few(
    words: Iterable[object],
    most: int = 6,
    others: str = "more",
    joined: Callable[[list[str]], str] = listing,
) -> str:
    """Join words, each once, and count those beyond a few."""
    texts = list(dict.fromkeys(map(str, words)))
    rest = len(texts) - most
    return joined(texts[:most] + ([f"{rest} {others}"] if rest > 0 else []))


def phase(part: str) -> str:
    """Name a part of the worker-seconds in words."""
    return {"busy": "tasks"}.get(part, part.replace("_", " "))


UNITS_S = {"s": 1.0, "min": 60.0, "h": 3600.0}


def seconds_of(text: str) -> float:
    """Seconds of a time like 90s, 5min or 1.5h; ValueError where it is none."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?) ?(s|min|h)", text.strip())
    if found is None or float(found[1]) == 0:
        raise ValueError("it must be a time with its unit, as in 90s, 5min or 1h")
    return float(found[1]) * UNITS_S[found[2]]


def percent_of(text: str) -> float:
    """The number of a share like 5%; ValueError where it is none."""
    found = re.fullmatch(r"(\d{1,2}(?:\.\d{1,3})?) ?%", text.strip())
    if found is None or float(found[1]) == 0:
        raise ValueError("it must be a share of the value in percent, as in 5%")
    return float(found[1])
