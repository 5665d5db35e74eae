"""Flags: a code and a sentence for each doubt about reconstructing over ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from pyscale.analysis.flags import OF_RANKS, codes_of_ranks, is_unstable
from pyscale.analysis.flags import SENTENCES as OF_ALL
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


MOST_REST = 0.01
"""Of an iteration's wall time: components that leave more out, or count more twice, are wrong."""
UNEVEN = 0.8
"""A mean over the largest of the ranks' work below which they are called uneven."""

SENTENCES = {
    "failed": OF_RANKS["failed"],
    "exhausted": "A trial ran out of memory.",
    **OF_RANKS,
    "unstable": (
        "Times scatter: standard deviation of 10 % of the mean or more, a trial 50 % or more away "
        "from the mean, or one further than 14.8 median absolute deviations from the median."
    ),
    "baseline-moved": (
        "The baseline is not the fewest ranks requested: no trial with fewer ranks counts."
    ),
    "other-work": (
        "Tiles overlap, so all ranks together denoise more pixels than the baseline: part of the "
        "lost efficiency is this extra work."
    ),
    "uneven": (
        f"In the middle trial the mean rank computed less than {UNEVEN:.0%} as long as the busiest "
        "one, for which all others wait."
    ),
    "rest": (f"On a rank more than {MOST_REST:.0%} of an iteration is in no component, or in two."),
    "gate-differs": (
        "The result of all ranks differs from that of one rank by more than the tolerances of "
        f"{GRADIENT_TOLERANCE:g} for the gradient and {DENOISER_TOLERANCE:g} for the denoised "
        "image: their times may be of other work."
    ),
    "gate-not-compared": (
        "The result of all ranks was not, or not wholly, compared with that of one rank."
    ),
    "oversubscribed": "More ranks than available processor cores.",
    "disturbed": (
        "Other work ran on the machine just before or after a trial, and may have shared cores, "
        "memory and the network with it."
    ),
    "mixed-hardware": OF_ALL["mixed-hardware"],
}


def flag_codes(trials: pl.DataFrame, entry: pl.DataFrame, times_s: Sequence[float]) -> list[str]:
    """Codes of all doubts about one configuration, in the order of `SENTENCES`."""
    counted, base = trials.filter("valid"), baseline(entry)
    gate, doubts = gate_verdict(counted), codes_of_ranks(trials)
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
        "gate-differs": gate == DIFFERS,
        "gate-not-compared": gate == NOT_COMPARED,
        "oversubscribed": bool(counted["oversubscribed"].any()),
        "mixed-hardware": doubts["mixed-hardware"]
        or bool(machines and base_machines and machines != base_machines),
    }
    return [code for code in SENTENCES if holds[code]]
