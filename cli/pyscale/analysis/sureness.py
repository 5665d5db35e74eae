"""How sure a finding is, by how often resampled trials lead to it."""

from __future__ import annotations

from typing import Literal

Sureness = Literal["sure", "likely", "undecided", "unknown"]

SURE, LIKELY = 0.95, 0.80
"""Least shares of resamples to be called so."""


def sureness(share: float | None) -> Sureness:
    """Name a share of resamples; None, of too few trials, is unknown."""
    if share is None:
        return "unknown"
    if share >= SURE:
        return "sure"
    return "likely" if share >= LIKELY else "undecided"
