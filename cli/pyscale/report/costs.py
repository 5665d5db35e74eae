"""Known costs of each configuration."""

from __future__ import annotations

from collections.abc import Sequence

from pyscale.analysis.spending import COSTS
from pyscale.report.curves import Curve

NAMES = {"core_hours": "Core-hours", "gpu_hours": "GPU-hours", "energy_j": "Energy (J)"}


def known(found: Sequence[Curve]) -> dict[str, str]:
    """Name the columns of costs that are known of any configuration and not zero everywhere."""
    return {
        column: f"{_name(cost, found)}{' per unit of work' if column != cost else ''}"
        for cost in COSTS
        for column in (cost, f"{cost}_per_work")
        if any(row.get(column) for curve in found for row in curve.timed)
    }


def _name(cost: str, found: Sequence[Curve]) -> str:
    if cost in NAMES:
        return NAMES[cost]
    currency = next(row["currency"] for curve in found for row in curve.timed if row["currency"])
    return f"Money ({currency})"
