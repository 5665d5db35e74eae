"""A reference from a run of ranks that work together: rates of loading, or speedups of parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from pyscale.analysis.findings import PointFindings
from pyscale.analysis.ranks.loader import SETTINGS, LoaderFindings
from pyscale.analysis.ranks.reconstruct import ReconstructFindings
from pyscale.analysis.referencemodel import GPUS, NUM_WORKERS, Content
from pyscale.errors import UserError
from pyscale.planning.plan import Plan
from pyscale.references.fromgrid import without_path
from pyscale.references.matchingranks import COMPONENTS


def of_ranks(plan: Plan, found: Sequence[PointFindings]) -> Content:
    """Take the rates of ranks that load patches, or the speedups of ranks that reconstruct."""
    stages = {entry: plan.suite.stage_name(entry) for one in found for entry in one.entries}
    match found:
        case [LoaderFindings() as loading]:
            return _of_loading(loading, stages)
        case [ReconstructFindings() as reconstruction]:
            content = _of_reconstruction(reconstruction, stages)
            if content.table.is_empty() and reconstruction.points["repeats"].sum():
                raise UserError(
                    f"the run {plan.run_id} measured reconstruction at one N alone, and a "
                    "reference of it holds speedups over the fewest ranks: measure at two or more "
                    "--workers"
                )
            return content
    raise UserError(
        f"the run {plan.run_id} measured {' and '.join(sorted(set(stages.values())))}, and a "
        "reference holds the table of one of them: measure each by a suite of its own"
    )


def _of_loading(found: LoaderFindings, stages: Mapping[str, str]) -> Content:
    points = found.points.drop_nulls("inferred_per_s")
    table = points.select(
        "stage",
        *SETTINGS,
        effective_patches_per_s="inferred_per_s",
        aggregate_patches_per_s="aggregate_per_s",
        slowest_patches_per_s="slowest_per_s",
        in_step_patches_per_s="patches_per_s",
        peak_rss_mb=pl.col("rss_bytes") / 1e6,
        repeats="repeats",
    ).with_columns(
        pl.col("factory", "reader").map_elements(without_path, return_dtype=pl.String),
    )
    return Content(
        table=table,
        sweep=NUM_WORKERS,
        stages={entry: stages[entry] for entry in table["stage"].unique(maintain_order=True)},
        figures="patches per second over all ranks, medians over trials: effective is N times the "
        "slowest rank, aggregate the sum of ranks, each by itself, in step that of ranks which "
        "wait for each other;",
        configurations=found.points,
        caveats=("Every rank loads as much as one alone would: rates are compared, not times.",),
    )


def _of_reconstruction(found: ReconstructFindings, stages: Mapping[str, str]) -> Content:
    table = found.scaling.filter(
        pl.col("component").is_in(COMPONENTS),
        pl.col("workers") > pl.col("baseline_workers"),
        pl.col("speedup").is_not_null(),
    ).select(
        "stage",
        "problem",
        image_size="size_px",
        baseline_gpus="baseline_workers",
        **{GPUS: "workers"},
        component="component",
        speedup="speedup",
        efficiency_pct=100 * pl.col("efficiency"),
        wall_s="seconds",
        repeats="repeats",
    )
    return Content(
        table=table,
        sweep=GPUS,
        stages={entry: stages[entry] for entry in table["stage"].unique(maintain_order=True)},
        figures="speedups of an iteration and of its components over baseline_gpus, which are "
        "ranks, and median times of the slowest rank;",
        configurations=found.points,
        caveats=(
            "The ranks share one image, and the denoiser's work grows with the margins of tiles.",
        ),
    )
