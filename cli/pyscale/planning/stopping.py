"""How long a run goes on, as it is asked for: for a time, or until its intervals are narrow."""

from __future__ import annotations

import re

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
