"""Reconstruction over ranks that nobody measured, made up: what each component does is known.

`reconstruction()` gives the table that a run of the stage `reconstruct` leaves, and `made_up()` the
results of that run, by default on 1, 2, 4 and 8 ranks six times. What is in it, so that a test can
count on it, all of it exactly so as the median over trials and iterations:

- on each of N ranks the gradient takes `gradient_s` of its entry, however many there are
- the denoiser takes `denoiser_s / N` times the work that tiles add: it scales perfectly with the
  work, but for the last rank, which is `slowest` times slower; all others wait for it
- both exchanges take `(N - 1)` times what one more rank adds, so that one rank has none
- the rest is `rest` of an iteration; the objective takes `objective_s` outside of it
- an image is cut into 16 tiles of a quarter of its length, and 64 in three dimensions, with margins
  of an eighth of that: the work is 1.5625 times as much, and 1.953125 times. One rank cuts nothing
- memory runs out on the last rank where there are fewer ranks than `fits_from`; the others were
  left alone by it

`ENTRIES` are `deblur_256` and `deblur_512` of one family, of which the second does not fit one
rank, and `volume_256`, which has random weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import polars as pl

from pyscale.analysis.ranks.reconstruct import reconstruct_findings
from pyscale.store.rows import reconstruction_schema
from pyscale_stages.reconstruct.stage import ReconstructParams
from runbuilder import RunBuilder, rank_header

GIB = 2**30
PSNR_DB = {"psnr_db": 30.0, "psnr_interior_db": 31.0, "psnr_border_db": 28.0}
DRIFT_DB = {"psnr_db": -0.01, "psnr_interior_db": 0.0, "psnr_border_db": -0.05}
"""What quality is with the fewest ranks, and how much it changes with more."""


@dataclass(frozen=True)
class Entry:
    """One entry of the suite: what each component takes."""

    stage: str
    family: str = "deblur"
    problem: str = "colour_deblur"
    size_px: int = 256
    gradient_s: float = 0.05
    """On each rank, however many there are."""
    denoiser_s: float = 0.8
    """Of the whole image, on one rank."""
    communication_s: float = 0.004
    """Of the gradient's parts, for each rank more than one."""
    gather_s: float = 0.002
    """Of the tiles, for each rank more than one."""
    objective_s: float = 0.03
    rest: float = 0.002
    fits_from: int = 1
    """The fewest ranks of which memory is enough."""
    weights: str = "drunet_color.pth (5eedc0de)"
    error: str | None = None
    """Why the last rank of every trial fails."""

    @property
    def dims(self):
        return 3 if self.problem == "tomography_3d" else 2

    @property
    def shape(self):
        channels = 3 if self.problem == "colour_deblur" else 1
        return " x ".join(str(length) for length in (channels, *[self.size_px] * self.dims))

    def work(self, ranks):
        """Pixels that all ranks denoise, over those of the image."""
        return 1.0 if ranks == 1 else 1.25**self.dims

    def tiles(self, ranks):
        return 1 if ranks == 1 else 4**self.dims


ENTRIES = (
    Entry("deblur_256"),
    Entry(
        *("deblur_512", "deblur", "colour_deblur", 512),
        gradient_s=0.2,
        denoiser_s=3.2,
        fits_from=2,
    ),
    Entry("volume_256", "volume", "tomography_3d", 256, denoiser_s=6.4, weights="random"),
)


def reconstruction(
    entries=ENTRIES,
    *,
    ranks=(1, 2, 4, 8),
    repeats=6,
    iterations=3,
    scatter=0.02,
    slowest=1.0,
    nodes=1,
):
    """Give the table of such a run, one row an iteration of a rank of a trial.

    `scatter` is the largest relative difference of a trial's times from the median; the last of
    several ranks denoises `slowest` times slower.
    """
    found = []
    for entry, count in product(entries, ranks):
        seed = len(entry.stage) + count
        noise = 1 + np.random.default_rng(seed).permutation(_about_zero(repeats)) * scatter
        for block, rank in product(range(repeats), range(count)):
            node = f"node{rank % nodes + 1}"
            header = _header(entry, count, block, rank) | {"node": node, "device": "cpu"}
            error = _error(entry, count, rank, node)
            if error is not None:
                found.append(header | error)
                continue
            measured = header | _measured(entry, count, rank)
            times = _times(entry, count, slowest if rank == count - 1 and count > 1 else 1.0)
            waited = _times(entry, count, slowest if count > 1 else 1.0)
            barrier_s = waited["denoiser_s"] - times["denoiser_s"]
            for iteration, own in enumerate(_about_zero(iterations)):
                scaled = {
                    name: value * noise[block] * (1 + 0.01 * own)
                    for name, value in (times | {"barrier_s": barrier_s}).items()
                }
                inside = sum(value for name, value in scaled.items() if name != "objective_s")
                wall_s = inside / (1 - entry.rest)
                number = {"iteration": iteration, "objective": 100.0 / (iteration + 1)}
                found.append(measured | number | {"wall_s": wall_s} | scaled)
    return pl.DataFrame(found, reconstruction_schema(), orient="row")


def _about_zero(count):
    """So many numbers of -1 to 1 whose median is nothing."""
    return np.linspace(-1, 1, count) if count > 1 else np.zeros(1)


def _times(entry, count, slower):
    """Times of a rank in an iteration, but for what it waits."""
    return {
        "gradient_s": entry.gradient_s,
        "denoiser_s": entry.denoiser_s * entry.work(count) / count * slower,
        "communication_s": entry.communication_s * (count - 1),
        "gather_s": entry.gather_s * (count - 1),
        "objective_s": entry.objective_s,
    }


def _header(entry, count, block, rank):
    quarter, told = entry.size_px // 4, {"problem": entry.problem, "size_px": entry.size_px}
    params = ReconstructParams(**told, tile_px=quarter, overlap_px=quarter // 8)
    point, params = {"size_px": entry.size_px}, params.model_dump(mode="json")
    about = (entry.stage, "reconstruct", entry.family, point)
    return rank_header(*about, count, block, rank, params) | told | {"exhausted": False}


def _error(entry, count, rank, node):
    """Why a rank fails; None where it does not."""
    ran_out = count < entry.fits_from
    if not ran_out and entry.error is None:
        return None
    is_cause = rank == count - 1
    cause = f"memory ran out on rank {rank} on {node}" if ran_out else entry.error
    return {
        "status": "failed",
        "error": cause if is_cause else f"rank {count - 1} on {node} left",
        "exhausted": ran_out and is_cause,
    }


def _measured(entry, count, rank):
    quarter = entry.size_px // 4
    several = count > 1
    row = {
        "shape": entry.shape,
        "operators": 8,
        "operators_here": 8 // count,
        "weights": entry.weights,
        "timing_only": entry.weights == "random",
        "tile_px": quarter if several else None,
        "overlap_px": quarter // 8 if several else 0,
        "tiles": entry.tiles(count),
        "tiles_here": entry.tiles(count) // count,
        "work_multiplier": entry.work(count),
        "backend": "gloo" if several else "",
        "device_name": "Xeon Gold 6338",
        "memory_total_bytes": 40 * GIB,
        "memory_peak_bytes": (8 + 16 // count) * GIB,
        "setup_s": 1.5 + 0.1 * rank,
        "deviation_interior": 3e-7 if several else 0.0,
        "deviation_border": 2e-2 if several else 0.0,
    }
    if rank == 0:
        row |= {name: value + several * DRIFT_DB[name] for name, value in PSNR_DB.items()}
    if rank == 0 and several:
        row |= {
            "gate_gradient": 2e-7,
            "gate_interior": 1e-7,
            "gate_border": 3e-2,
            "gate_interior_px": entry.size_px**2 // 4,
            "gate_why_not": "",
        }
    return row


def made_up(entries=ENTRIES, *, ranks=(1, 2, 4, 8), repeats=6, pipeline=False, **told):
    """Analyse a run of these entries, of which `reconstruction` is `told`."""
    phases, beside = {"import": 3.0, "compute": 20.0}, {"import": 2.0} if pipeline else None
    run = RunBuilder().of_ranks(entries, ranks, repeats, phases, beside)
    table = reconstruction(entries, ranks=ranks, repeats=repeats, **told)
    found = [reconstruct_findings(table)]
    return replace(run.results("suite reconstruct, made up"), kinds=found)
