"""Sentences on the laws fitted to a curve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyscale.analysis.laws import WRITTEN, CurveFits, Estimate, Fit
from pyscale.report.curves import Curve
from pyscale.wording import listing, titled
from pyscale_stages.wording import plural

MEANING = {"f": "serial part f", "sigma": "contention sigma", "kappa": "coherency kappa"}
TOO_FEW = "few-counts"
BESIDE = {
    True: ", within the scatter of the trials.",
    False: ", more than the trials scatter: the law does not quite describe the curve.",
    None: "; with one trial at each N, scatter and misfit cannot be separated.",
}


def of_curve(curve: Curve, fits: Iterable[CurveFits]) -> Iterator[str]:
    """State the laws of one curve, and the N that they exclude."""
    for own in fits:
        if curve.owns(own):
            excluded = [row["workers"] for row in curve.timed if row["invalid"]]
            if excluded:
                yield f"The laws exclude N = {listing(excluded)} (invalid)."
            yield from sentences(own.amdahl, own.usl)


def sentences(*laws: Fit) -> Iterator[str]:
    """State the laws of a curve, or why one is not fitted; once where N are too few for all."""
    if len(laws) > 1 and all(fit.refusal and fit.refusal.code == TOO_FEW for fit in laws):
        yield f"No law is fitted: this curve has {plural(len(laws[0].counts), 'value')} of N."
        return
    yield from map(_law, laws)


def _law(fit: Fit) -> str:
    if fit.refusal is not None:
        return f"Not fitted: {fit.refusal.sentence}"
    told = "; ".join(_parameter(MEANING[name], own) for name, own in fit.parameters.items())
    trials = f"{plural(fit.trials, 'trial')} at N = {listing(fit.counts)}"
    # Below that there is rounding alone.
    percent = f"{max(100 * fit.miss, 0.01):.2g} %"
    missed = (
        f"It misses the mean wall times by at most {percent} (N = {fit.miss_at})"
        f"{BESIDE[fit.within_scatter]}"
    )
    return f"{titled(WRITTEN[fit.law])}, fitted to {trials}: {told}. {missed}"


def _parameter(name: str, found: Estimate) -> str:
    """Give one number by its interval."""
    if found.low <= 0:
        most = f"at most {found.high:.2g} (95 % interval; estimate {found.value:.3g})"
        return f"{name} is not distinguishable from 0: {most}"
    return f"{name} = {found.value:.3g} (95 % interval {found.low:.3g} to {found.high:.3g})"
