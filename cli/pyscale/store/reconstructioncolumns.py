"""Columns of the table of what reconstructing one image with others gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.store.rankcolumns import rank_schema
from pyscale_stages.reconstruction import COMPONENTS

if TYPE_CHECKING:
    import polars as pl


def reconstruction_schema() -> dict[str, pl.DataType]:
    """Columns of the table of reconstruction: a row a timed iteration of a rank of a trial.

    A rank that failed has one row, with its error and null in all that was to be measured.

    trial, suite, stage, family, point, workers, block, task
        As in the table of tasks: `stage` is the entry of the suite, `workers` the number of ranks.
    rank
        Which of the ranks it is, from 0.
    attempt, status, error, node, hardware, oversubscribed, disturbed
        As in the table of tasks.
    exhausted
        Whether memory ran out on this rank: its own error says so, or Slurm.
    problem, size_px
        Parameters of the stage: what is reconstructed, and the length of the image.
    settings
        All of its parameters, a JSON object.
    shape
        Channels and lengths of the image, like "3 x 256 x 256".
    operators, operators_here, weights, timing_only, backend, device_name, memory_total_bytes, \
memory_peak_bytes, setup_s
        As `pyscale_stages.reconstruction.Reconstruction` describes them.
    tile_px, overlap_px, tiles, tiles_here, work_multiplier
        As `pyscale_stages.reconstruction.Tiling` describes them.
    device
        cpu or cuda, as planned.
    psnr_db, psnr_interior_db, psnr_border_db
        Peak signal-to-noise ratio of the image; on rows of the first rank alone.
    gate_gradient, gate_interior, gate_border, gate_interior_px, gate_why_not
        As `pyscale_stages.reconstruction.Gate` describes them; on rows of the first of several
        ranks alone.
    deviation_interior, deviation_border
        How far the trial's image is from that of the fewest ranks, as a share of its largest
        value, where tiles hold all that the network looks at, and elsewhere; the same on all rows
        of a trial, and null where nothing was compared.
    iteration
        Which of the timed iterations, from 0.
    wall_s, gradient_s, denoiser_s, communication_s, gather_s, barrier_s
        As `pyscale_stages.reconstruction.Iteration` describes them.
    objective_s, objective
        What computing the objective took the time of that number, after all iterations, and its
        value, the same on all rows of a rank.
    """
    import polars as pl

    text, whole, real, flag = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
    return {
        **rank_schema(),
        "exhausted": flag,
        "problem": text,
        "size_px": whole,
        "settings": text,
        "shape": text,
        "operators": whole,
        "operators_here": whole,
        "weights": text,
        "timing_only": flag,
        "tile_px": whole,
        "overlap_px": whole,
        "tiles": whole,
        "tiles_here": whole,
        "work_multiplier": real,
        "backend": text,
        "device": text,
        "device_name": text,
        "memory_total_bytes": whole,
        "memory_peak_bytes": whole,
        "setup_s": real,
        "psnr_db": real,
        "psnr_interior_db": real,
        "psnr_border_db": real,
        "gate_gradient": real,
        "gate_interior": real,
        "gate_border": real,
        "gate_interior_px": whole,
        "gate_why_not": text,
        "deviation_interior": real,
        "deviation_border": real,
        "iteration": whole,
        "wall_s": real,
        **{f"{component}_s": real for component in COMPONENTS},
        "objective_s": real,
        "objective": real,
    }
