"""The table of reconstruction: its columns, and its rows from the records of one trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyscale.analysis.schema import FLAG, REAL, TEXT, WHOLE, Schema, columns
from pyscale.plan import Trial
from pyscale.retrying import MEMORY_LIMIT
from pyscale.store.columns import rank_rows, rank_schema
from pyscale.store.records import TaskRecord
from pyscale_stages.contract import TaskError
from pyscale_stages.errors import ResourceExhausted
from pyscale_stages.reconstruction import COMPONENTS, Gate, Reconstruction


def reconstruction_schema() -> Schema:
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
    return rank_schema() | columns(
        (FLAG, "exhausted"),
        (TEXT, "problem"),
        (WHOLE, "size_px"),
        (TEXT, "settings shape"),
        (WHOLE, "operators operators_here"),
        (TEXT, "weights"),
        (FLAG, "timing_only"),
        (WHOLE, "tile_px overlap_px tiles tiles_here"),
        (REAL, "work_multiplier"),
        (TEXT, "backend device device_name"),
        (WHOLE, "memory_total_bytes memory_peak_bytes"),
        (REAL, "setup_s psnr_db psnr_interior_db psnr_border_db"),
        (REAL, "gate_gradient gate_interior gate_border"),
        (WHOLE, "gate_interior_px"),
        (TEXT, "gate_why_not"),
        (REAL, "deviation_interior deviation_border"),
        (WHOLE, "iteration"),
        (REAL, "wall_s"),
        (REAL, " ".join(f"{component}_s" for component in COMPONENTS)),
        (REAL, "objective_s objective"),
    )


def reconstruction_rows(
    trial: Trial, tasks: Iterable[Mapping[str, Any]], records: Mapping[str, TaskRecord]
) -> Iterator[dict[str, Any]]:
    """Rows of the ranks of a trial that have ended, the failed ones too."""
    if not trial.shares_image:
        return
    deviations = _deviations(records.get("check"))
    for task, as_planned in rank_rows(trial, tasks, ("device",)):
        record = records[task]
        found = record.result.reconstruction if record.result is not None else None
        of_rank = as_planned | {
            "exhausted": _ran_out_of_memory(record.error),
            "problem": trial.params.get("problem"),
            "size_px": trial.params.get("size_px"),
        }
        if found is None or record.state == "failed":
            yield of_rank
            continue
        of_rank |= _measured(found) | deviations
        timed = zip(found.iterations, found.objectives_s, strict=True)
        for number, (iteration, objective_s) in enumerate(timed):
            told = {"iteration": number, "objective_s": objective_s}
            yield of_rank | told | iteration.model_dump()


def _ran_out_of_memory(error: TaskError | None) -> bool:
    """Whether a rank's own memory ran out; a full disk exhausts a resource too."""
    if error is None:
        return False
    by_itself = error.kind == ResourceExhausted.__name__ and "memory" in error.message
    return by_itself or error.kind == MEMORY_LIMIT


def _deviations(check: TaskRecord | None) -> dict[str, float | None]:
    """How far the image is from that of the fewest ranks, where the two were compared."""
    result = check.result if check is not None else None
    agreement = result.agreement if result is not None else None
    told = agreement.details if agreement is not None else {}
    return {
        "deviation_interior": told.get("interior_deviation"),
        "deviation_border": told.get("border_deviation"),
    }


def _measured(found: Reconstruction) -> dict[str, Any]:
    """Columns of what a rank measured, but for its iterations."""
    told = found.model_dump(
        exclude={"tiling", "iterations", "objectives_s", "gate", "shape", "device"}
    )
    return {
        **told,
        **found.tiling.model_dump(),
        **({} if found.gate is None else _gate(found.gate)),
        "shape": " x ".join(map(str, found.shape)),
        "device_name": found.device,
    }


def _gate(gate: Gate) -> dict[str, Any]:
    return {
        "gate_gradient": gate.gradient,
        "gate_interior": gate.denoiser_interior,
        "gate_border": gate.denoiser_border,
        "gate_interior_px": gate.interior_px,
        "gate_why_not": gate.why_not,
    }
