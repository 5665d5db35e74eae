"""Conditions that raise the flags of reconstructing over ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from pyscale.analysis.doubts import flags_of_ranks, is_unstable
from pyscale.analysis.flags import MOST_REST, UNEVEN, raised
from pyscale.analysis.reconstruct.trials import baseline, of_middle
from pyscale_stages.reconstruction import DENOISER_TOLERANCE, GRADIENT_TOLERANCE

AGREES, DIFFERS, NOT_COMPARED = "agrees", "differs", "not compared"


def gate_verdict(trials: pl.DataFrame) -> str | None:
    """Judge one configuration by its worst trial.

    Where a network looks so far that tiles hold all it looks at for no pixel, there is no interior
    to compare, and the gradient alone decides.
    """
    if trials.is_empty() or trials["workers"][0] == 1:
        return None
    verdicts = {_of_trial(trial) for trial in trials.iter_rows(named=True)}
    return next(each for each in (DIFFERS, NOT_COMPARED, AGREES) if each in verdicts)


def _of_trial(trial: dict[str, Any]) -> str:
    gradient, interior = trial["gate_gradient"], trial["gate_interior"]
    # Asked so that what is no number at all is no agreement.
    if gradient is not None and not gradient <= GRADIENT_TOLERANCE:
        return DIFFERS
    if interior is not None and not interior <= DENOISER_TOLERANCE:
        return DIFFERS
    has_no_interior = trial["gate_interior_px"] == 0
    is_whole = gradient is not None and (interior is not None or has_no_interior)
    return AGREES if is_whole else NOT_COMPARED


def flag_codes(trials: pl.DataFrame, entry: pl.DataFrame, times_s: Sequence[float]) -> list[str]:
    """Codes of all doubts about one configuration, in the order of `FLAGS`."""
    counted, base = trials.filter("valid"), baseline(entry)
    gate, doubts = gate_verdict(counted), flags_of_ranks(trials)
    machines = set(counted["hardware"].explode().drop_nulls())
    base_machines = set(base["hardware"].explode().drop_nulls())
    work, base_work = counted["work_multiplier"].max(), base["work_multiplier"].max()
    balance = of_middle(counted, "balance")
    holds = {
        **doubts,
        "exhausted": bool(trials["exhausted"].any()),
        "unstable": any(times_s) and is_unstable(times_s),
        "baseline-moved": not counted.is_empty() and min(entry["workers"]) < base["workers"][0],
        "other-work": None not in (work, base_work) and work != base_work,
        "uneven": balance is not None and balance < UNEVEN,
        "rest": bool((counted["rest_share"] > MOST_REST).any()),
        "disagrees": gate == DIFFERS,
        "not-compared": gate == NOT_COMPARED,
        "oversubscribed": bool(counted["oversubscribed"].any()),
        "mixed-hardware": doubts["mixed-hardware"]
        or bool(machines and base_machines and machines != base_machines),
    }
    return raised(holds)
