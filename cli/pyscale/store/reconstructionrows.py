"""Rows of the table of reconstruction, from the records of one trial."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyscale.plan import Trial
from pyscale.retrying import MEMORY_LIMIT
from pyscale.store.rankcolumns import OF_TASK
from pyscale.store.records import TaskRecord
from pyscale_stages.contract import TaskError
from pyscale_stages.errors import ResourceExhausted
from pyscale_stages.reconstruction import Gate, Reconstruction

_HEADER = (*OF_TASK, "device")


def reconstruction_rows(
    trial: Trial, tasks: Iterable[Mapping[str, Any]], records: Mapping[str, TaskRecord]
) -> Iterator[dict[str, Any]]:
    """Rows of the ranks of a trial that have ended, the failed ones too.

    Parameters
    ----------
    trial : Trial
    tasks : iterable of mapping
        Rows of its tasks in the table of tasks.
    records : mapping of str to TaskRecord
        Of each of its tasks.
    """
    if not trial.shares_image:
        return
    deviations = _deviations(records.get("check"))
    for row in tasks:
        if row["verb"] != "run":
            continue
        record = records[row["task"]]
        found = record.result.reconstruction if record.result is not None else None
        of_rank = {
            **{name: row.get(name) for name in _HEADER},
            "rank": int(row["task"].removeprefix("w")),
            "exhausted": _ran_out_of_memory(record.error),
            "problem": trial.params.get("problem"),
            "size_px": trial.params.get("size_px"),
            "settings": json.dumps(trial.params, sort_keys=True),
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
