"""Known costs of each configuration."""

from __future__ import annotations

from collections.abc import Sequence

from pyscale.analysis.spending import COSTS
from pyscale.report.curves import Curve
from pyscale.report.wording import number


def columns(found: Sequence[Curve]) -> tuple[str, ...]:
    """Headers of the table, with costs that any configuration has; empty where none has any."""
    names = [
        f"{_header(cost, found)}{' per unit of work' if per_work else ''}"
        for cost, per_work in _known(found)
    ]
    return ("Stage", "N", *names) if names else ()


def rows(found: Sequence[Curve]) -> list[list[str]]:
    """Cells of every timed configuration of which a cost is known."""
    columns_known = known(found)
    return [
        [curve.name, str(row["workers"]), *(number(row[column]) for column in columns_known)]
        for curve in found
        for row in curve.timed
        if any(row[column] is not None for column in columns_known)
    ]


def known(found: Sequence[Curve]) -> list[str]:
    """Columns of the table of configurations that `columns` heads, after stage and N."""
    return [_column(cost, per_work) for cost, per_work in _known(found)]


def _known(found: Sequence[Curve]) -> list[tuple[str, bool]]:
    """Costs that are known of any configuration and are not zero everywhere."""
    return [
        (cost, per_work)
        for cost in COSTS
        for per_work in (False, True)
        if any(row.get(_column(cost, per_work)) for curve in found for row in curve.timed)
    ]


def _column(cost: str, per_work: bool) -> str:
    return f"{cost}_per_work" if per_work else cost


def _header(cost: str, found: Sequence[Curve]) -> str:
    if cost != "money":
        return {"core_hours": "Core-hours", "gpu_hours": "GPU-hours", "energy_j": "Energy (J)"}[
            cost
        ]
    currency = next(row["currency"] for curve in found for row in curve.timed if row["currency"])
    return f"Money ({currency})"
