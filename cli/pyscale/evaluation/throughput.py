"""Loading of patches asked for from Python: the function that makes the dataset, and the answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from pyscale.errors import UserError
from pyscale_stages.loader.stage import SHIPPED

SWEPT = ("num_workers", "pool_size", "patches_per_slide", "patches_per_visit")
"""Settings of which wsistream's function takes several values, in its order."""
PATH = "PYTHONPATH"
ASKED = "PYSCALE_THROUGHPUT_ASKED"
"""Set in all that measuring starts, ranks too."""


@contextmanager
def factory_named(make_dataset: Callable[..., Any] | str | None) -> Iterator[str]:
    """Name a function as ranks import it, and let processes that are started find its module."""
    if ASKED in os.environ:
        # It would start ranks that start ranks.
        raise UserError(
            "ranks import the file of make_dataset: call pyscale.throughput below `if __name__ == "
            '"__main__":` in it'
        )
    factory, folder = _factory_and_folder(make_dataset)
    before = os.environ.get(PATH)
    os.environ |= {ASKED: factory, PATH: os.pathsep.join(filter(None, (before, folder)))}
    try:
        yield factory
    finally:
        del os.environ[ASKED], os.environ[PATH]
        os.environ |= {} if before is None else {PATH: before}


def _factory_and_folder(make_dataset: Callable[..., Any] | str | None) -> tuple[str, str]:
    if make_dataset is None or isinstance(make_dataset, str):
        return make_dataset or SHIPPED, ""
    name, module = (getattr(make_dataset, key, "") for key in ("__qualname__", "__module__"))
    file = getattr(sys.modules.get(module), "__file__", None)
    if not name.isidentifier() or file is None:
        raise UserError(
            f"make_dataset is {name or type(make_dataset).__name__}, which ranks cannot import: "
            "make it a function at the top of a file, and import it from there"
        )
    path = Path(file).absolute()
    above = module.count(".") + (path.name == "__init__.py")
    module = path.stem if module == "__main__" else module
    return f"{module}:{name}", str(path.parents[above])


def patch_table(points: pl.DataFrame, loading: pl.DataFrame) -> pl.DataFrame:
    """Rates and memory of configurations, with the names that wsistream gives its results."""
    patch_s = (pl.col("free_wall_s") / pl.col("free_patches")).median()
    ranks = (
        loading.group_by("stage", "rank")
        .agg(
            (1 / patch_s).alias("patches_per_sec"),
            *(
                (pl.col(f"free_wait_{share}_s").median() * 1e3).alias(f"batch_time_{share}_ms")
                for share in ("p50", "p95")
            ),
            (pl.col("rss_bytes").max() / 2**20).alias("peak_rss_mb"),
        )
        .sort("rank")
        .group_by("stage")
        .agg(
            pl.exclude("rank").name.prefix("per_rank_"),
            pl.col("peak_rss_mb").max(),
        )
    )
    totals = (
        loading.group_by("stage", "trial")
        .agg(pl.col("free_patches").sum(), pl.col("free_wall_s").max())
        .group_by("stage")
        .agg(
            total_patches=pl.col("free_patches").max(),
            total_time_sec=pl.col("free_wall_s").median(),
        )
    )
    return (
        points.join(ranks, on="stage", how="left")
        .join(totals, on="stage", how="left")
        .sort(SWEPT)
        .select(
            *SWEPT,
            "batch_size",
            pl.col("workers").alias("world_size"),
            pl.col("inferred_per_s").alias("effective_sync_throughput"),
            pl.col("aggregate_per_s").alias("aggregate_throughput"),
            pl.col("patches_per_s").alias("in_step_throughput"),
            "peak_rss_mb",
            pl.col("^per_rank_.*$"),
            *totals.columns[1:],
            "error",
        )
    )
