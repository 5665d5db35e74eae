"""Names of the configurations of a loader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyscale.analysis.loader.columns import SETTINGS
from pyscale.report.ofranks import Row

DATASET = ("pool_size", "patches_per_slide", "patches_per_visit")
"""Settings of a dataset's factory."""
DATALOADER = ("batch_size", "num_workers", "prefetch_factor", "pin_memory")
"""Settings of torch's DataLoader."""
SHORT = {
    "num_workers": "workers",
    "pool_size": "pool",
    "patches_per_slide": "slide",
    "patches_per_visit": "visit",
    "batch_size": "batch",
    "prefetch_factor": "prefetch",
    "pin_memory": "pinned",
    "patch_px": "px",
    "mpp": "mpp",
    "tissue": "tissue",
}
"""Short names of settings; factory and reader are named by their values alone."""
MILLI, KILO = 1e-3, 1e3


def names_of(points: Iterable[Row]) -> dict[str, str]:
    """Name every entry by the settings in which the entries differ."""
    rows = {row["stage"]: row for row in points}
    varied = varied_in(list(rows.values()))
    found = {stage: ", ".join(short(row, varied)) for stage, row in rows.items()}
    told = list(found.values())
    return {
        stage: name if name and told.count(name) == 1 else " ".join(filter(None, (stage, name)))
        for stage, name in found.items()
    }


def varied_in(points: Sequence[Row]) -> list[str]:
    """Settings in which configurations differ."""
    return [name for name in SETTINGS if len({str(row[name]) for row in points}) > 1]


def short(row: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Write settings in few letters; what is not known is left out."""
    return [
        f"{SHORT[name]} {_written(row[name])}" if name in SHORT else str(row[name])
        for name in names
        if row[name] is not None
    ]


def same_everywhere(points: Sequence[Row]) -> list[str]:
    """Settings in which no two configurations differ, as `name=value`."""
    varied = varied_in(points)
    return settings_of(points[0], [name for name in SETTINGS if name not in varied])


def settings_of(row: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Write settings as `name=value`; what is not known is left out."""
    return [f"{name}={row[name]}" for name in names if row[name] is not None]


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
