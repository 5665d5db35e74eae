"""Parameters of the loader that tell configurations apart: a column each, in every table."""

from __future__ import annotations

from typing import Any

SETTINGS = (
    *("factory", "reader", "num_workers", "pool_size", "patches_per_slide", "patches_per_visit"),
    *("batch_size", "prefetch_factor", "pin_memory", "patch_px", "mpp", "tissue"),
)
"""In the order in which they are told."""


def setting_columns() -> dict[str, Any]:
    """Columns of `SETTINGS`."""
    import polars as pl

    kinds: dict[str, Any] = {
        **dict.fromkeys(("factory", "reader"), pl.String()),
        **dict.fromkeys(("pin_memory", "tissue"), pl.Boolean()),
        "mpp": pl.Float64(),
    }
    return {name: kinds.get(name, pl.Int64()) for name in SETTINGS}
