"""Whether ranks together compute what one computes alone, by the tolerances of the stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyscale_stages.reconstruction import DENOISER_TOLERANCE, GRADIENT_TOLERANCE

if TYPE_CHECKING:
    import polars as pl

AGREES, DIFFERS, NOT_COMPARED = "agrees", "differs", "not compared"


def gate_verdict(trials: pl.DataFrame) -> str | None:
    """Judge one configuration by its worst trial.

    Where a network looks so far that tiles hold all it looks at for no pixel, there is no interior
    to compare, and the gradient alone decides.

    Parameters
    ----------
    trials : polars.DataFrame
        Those that count of one N, as `pyscale.analysis.reconstruct.columns.trial_schema` describes
        them.

    Returns
    -------
    str or None
        None where there is nothing to judge: without a trial, and with one rank.
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
