"""Columns of the tables of what reconstructing over ranks gave."""

from __future__ import annotations

from pyscale.analysis.aggregate import folded_schema
from pyscale.analysis.schema import FLAG, REAL, TEXT, TEXTS, WHOLE, Schema, columns, ends_of
from pyscale_stages.reconstruction import COMPONENTS, Reconstruction

TOTAL = "total"
"""A whole iteration: its wall time."""
OBJECTIVE = "objective"
"""The value of the objective, which is timed after all iterations and is no part of them."""
EVERY = (TOTAL, *COMPONENTS, OBJECTIVE)

BETWEEN_RANKS = ("communication", "gather", "barrier")
"""What one rank alone does not do, so that nothing can be so many times faster than there."""


def column(component: str) -> str:
    """Give what its columns begin with: the time of the whole is `wall_s`."""
    return "wall" if component == TOTAL else component


QUALITY = ("psnr_db", "psnr_interior_db", "psnr_border_db")
DEVIATIONS = ("deviation_interior", "deviation_border")


def trial_schema() -> Schema:
    """Columns of `reconstruct_trials`, one row a trial; what docs/columns.md has is of one trial.

    What was not measured is null, and all times of a trial in which a rank failed are. `error` is
    of the rank whose memory ran out, else of the first that failed. A component's `_s` is the
    median over iterations of the time of the rank where it is longest, `_mean_s` of the mean over
    ranks, `_share` the sum over all iterations of all ranks as a share of `ranks_s`. `rest_share`
    is what of an iteration is in no component, or in two: median over iterations, of the rank where
    it is largest. `balance` and `tiles_balance` are mean over largest value of the ranks: of the
    time in gradient and denoiser, and of tiles.
    """
    times = [column(component) for component in EVERY]
    return columns(
        (TEXT, "stage family problem"),
        (WHOLE, "size_px workers"),
        (TEXT, "trial"),
        (WHOLE, "block attempt"),
        (FLAG, "complete valid"),
        (TEXT, "error"),
        (FLAG, "exhausted"),
        (REAL, " ".join(f"{name}_s" for name in times)),
        (REAL, " ".join(f"{name}_mean_s" for name in times)),
        (REAL, "ranks_s"),
        (REAL, " ".join(f"{name}_share" for name in COMPONENTS)),
        (REAL, "rest_share balance tiles_balance"),
        (REAL, " ".join(DEVIATIONS)),
        (TEXT, "device"),
        (FLAG, "oversubscribed disturbed"),
        (TEXTS, "hardware"),
    ) | folded_schema(Reconstruction)


def scaling_schema() -> Schema:
    """Columns of `component_scaling`, a component of an entry at one N a row; see docs/columns.md.

    Without a trial that counts all times are null. `seconds` is the median over trials of the time
    of the slowest rank in an iteration, `mean_seconds` of the mean over ranks. `speedup` is null
    where either time is nothing, and for what passes between ranks where N0 is 1.
    `normalised_efficiency`, of total and denoiser alone, is times `work_multiplier` at N over that
    at N0. `loss_s` is what `mean_seconds` are beyond N0 / N of those at N0. `share` is null for the
    objective.
    """
    return columns(
        (TEXT, "stage family problem"),
        (WHOLE, "size_px workers"),
        (TEXT, "component"),
        (WHOLE, "repeats"),
        (REAL, f"{ends_of('seconds')} mean_seconds share"),
        (WHOLE, "baseline_workers"),
        (REAL, ends_of("speedup", "efficiency")),
        (REAL, "normalised_efficiency loss_s work_multiplier"),
        (TEXT, "flags"),
    )


def point_schema() -> Schema:
    """Columns of `reconstruct_points`, an entry at one N a row; see docs/columns.md.

    `wall_s` is the median over trials of an iteration of the slowest rank. `collectives_share` is
    of both exchanges: that of the gradient and that of the tiles. `rest_share` and deviations are
    the largest of any trial that counts, `balance` that of the middle trial by `wall_s` (of two
    middle ones the slower). A `_drift_db` is how much more a quality is than with
    `baseline_workers`. `gate` is "agrees", "differs" or "not compared", null with one rank and
    where no trial counts.
    """
    drifts = " ".join(f"{name.removesuffix('_db')}_drift_db" for name in QUALITY)
    return (
        columns(
            (TEXT, "stage family problem"),
            (WHOLE, "size_px workers baseline_workers repeats failed"),
            (TEXT, "error"),
            (FLAG, "exhausted"),
            (REAL, ends_of("wall_s")),
            (REAL, "collectives_share barrier_share rest_share balance tiles_balance"),
        )
        | folded_schema(Reconstruction)
        | columns((REAL, " ".join((drifts, *DEVIATIONS))), (TEXT, "gate device flags"))
    )


def largest_schema() -> Schema:
    """Columns of `pyscale.analysis.reconstruct.points.largest_sizes`.

    family, problem, workers : str and int
        One row for each N of the entries of a family that have the same problem.
    largest_px : int
        Largest size of which a trial was complete; null where none was.
    exhausted_px : int
        Smallest size of which memory ran out in a trial; null where it never did.
    """
    return columns(
        (TEXT, "family problem"),
        (WHOLE, "workers largest_px exhausted_px"),
    )
