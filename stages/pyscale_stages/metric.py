"""How a field of a record stands in tables: the marker beside its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Metric:
    """How tables hold one field of a record.

    Attributes
    ----------
    name : str or None
        Of its column, without the prefix of the record that holds it; None is the field's own.
        Columns of a record within the record begin with it, where it is not empty.
    samples : mapping of str to str
        Of a list of numbers: columns, and what each tells of them: count, mean, max, or a
        percentile like p50.
    """

    name: str | None = None
    samples: Mapping[str, str] = field(default_factory=dict)


def percentiles(name: str) -> dict[str, str]:
    """Columns of the three percentiles that times are told by."""
    return {f"{name}_{which}_s": which for which in ("p50", "p95", "p99")}
