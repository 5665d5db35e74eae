"""What a reader must know before trusting what reconstructing over ranks gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyscale.analysis.flags import is_unstable
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.reconstruct.curve import baseline, of_middle
from pyscale.analysis.reconstruct.gate import DIFFERS, NOT_COMPARED, gate_verdict
from pyscale_stages.reconstruction import DENOISER_TOLERANCE, GRADIENT_TOLERANCE

if TYPE_CHECKING:
    import polars as pl

MOST_REST = 0.01
"""Of an iteration's wall time: components that leave more out, or count more twice, are wrong."""
UNEVEN = 0.8
"""A mean over the largest of the ranks' work below which they are called uneven."""

SENTENCES = {
    "failed": "A trial failed or did not finish; it is left out.",
    "exhausted": "Memory ran out in a trial.",
    "retried": "A trial succeeded only when tried again; it is left out.",
    "retried-counted": (
        "A trial succeeded only when tried again; it is counted, as was asked for."
    ),
    "few-repeats": f"Fewer than {repeats_needed()} trials count, too few for a 95 % interval.",
    "unstable": (
        "Times scatter: standard deviation of 10 % of the mean or more, an extreme 50 % or more "
        "away from the mean, or a trial further than 14.8 median absolute deviations from the "
        "median."
    ),
    "baseline-moved": (
        "Fewer ranks than the baseline's were asked for, and no trial of these counts: the speedup "
        "is not over the fewest that were asked for."
    ),
    "other-work": (
        "Tiles overlap, so that all ranks together denoise more pixels than those of the baseline: "
        "a part of the lost efficiency is work that one rank does not do."
    ),
    "uneven": (
        f"In the middle trial the mean rank computed less than {UNEVEN:.0%} as long as the busiest "
        "one, for which all others wait."
    ),
    "rest": (
        f"On a rank more than {MOST_REST:.0%} of an iteration is in none of the components, or in "
        "two of them."
    ),
    "gate-differs": (
        "Ranks together computed something else than one rank alone, beyond the tolerances of "
        f"{GRADIENT_TOLERANCE:g} for the gradient and {DENOISER_TOLERANCE:g} for the denoised "
        "image: their times may be those of other work."
    ),
    "gate-not-compared": (
        "What ranks computed together was not, or not wholly, compared with what one computes."
    ),
    "oversubscribed": "There were more ranks than processor cores for them.",
    "disturbed": (
        "Other work ran on the machine just before or after a trial, which may have shared cores, "
        "memory and the network with it."
    ),
    "mixed-hardware": (
        "Trials ran on different hardware from each other or from the baseline: part of the "
        "difference may be the machines'."
    ),
}


def flag_codes(trials: pl.DataFrame, entry: pl.DataFrame, times_s: Sequence[float]) -> list[str]:
    """Codes of all doubts about one configuration, in the order of `SENTENCES`.

    Parameters
    ----------
    trials : polars.DataFrame
        Every trial of it, also those that do not count, as
        `pyscale.analysis.reconstruct.columns.trial_schema` describes them.
    entry : polars.DataFrame
        Every trial of its entry, with any N.
    times_s : sequence of float
        Of the component that is looked at, in each trial that counts.
    """
    import polars as pl

    counted, base = trials.filter("valid"), baseline(entry)
    gate = gate_verdict(counted)
    machines = set(counted["hardware"].explode().drop_nulls())
    base_machines = set(base["hardware"].explode().drop_nulls())
    work, base_work = counted["work_multiplier"].max(), base["work_multiplier"].max()
    balance = of_middle(counted, "balance")
    holds = {
        "failed": not trials["complete"].all(),
        "exhausted": bool(trials["exhausted"].any()),
        "retried": not trials.filter(pl.col("complete") & ~pl.col("valid")).is_empty(),
        "retried-counted": not counted.filter(pl.col("attempt") > 1).is_empty(),
        "few-repeats": 0 < counted.height < repeats_needed(),
        "unstable": any(times_s) and is_unstable(times_s),
        "baseline-moved": not counted.is_empty() and min(entry["workers"]) < base["workers"][0],
        "other-work": None not in (work, base_work) and work != base_work,
        "uneven": balance is not None and balance < UNEVEN,
        "rest": bool((counted["rest_share"] > MOST_REST).any()),
        "gate-differs": gate == DIFFERS,
        "gate-not-compared": gate == NOT_COMPARED,
        "oversubscribed": bool(counted["oversubscribed"].any()),
        "disturbed": bool(counted["disturbed"].any()),
        "mixed-hardware": len(machines) > 1
        or bool(machines and base_machines and machines != base_machines),
    }
    return [code for code in SENTENCES if holds[code]]
