"""Sentences on the laws fitted to a curve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyscale.analysis.fits import CurveFits, RankFits
from pyscale.analysis.laws import WRITTEN, Fit, Optimum, Parameter
from pyscale.report.curves import Curve
from pyscale.report.section import Block
from pyscale.wording import few, grouped, listing, titled
from pyscale_stages.wording import plural

MEANING = {"f": "serial part f", "sigma": "contention sigma", "kappa": "coherency kappa"}
TOO_FEW = "few-counts"
LEAST_MISS = 0.001
"""Percentage below which a misfit is not given in digits."""
LARGEST = {"f": 1.0, "sigma": 1.0, "kappa": None}


def of_curve(curve: Curve, fits: Iterable[CurveFits]) -> Iterator[str]:
    """State the laws of one curve, and the N that they exclude."""
    for own in fits:
        if curve.owns(own):
            excluded = [row["workers"] for row in curve.timed if row["invalid"]]
            if excluded:
                yield f"The laws exclude N = {listing(excluded)} (invalid)."
            yield from sentences(own.amdahl, own.usl)
            yield from _superlinear(curve, own)


def sentences(*laws: Fit) -> Iterator[str]:
    """State the laws of a curve, or why one is not fitted; once where N are too few for all."""
    if len(laws) > 1 and all(fit.refusal and fit.refusal.code == TOO_FEW for fit in laws):
        yield f"No law is fitted: this curve has {plural(len(laws[0].counts), 'value')} of N."
        return
    yield from map(_law, laws)


def of_ranks(curves: Sequence[RankFits], names: Mapping[str, str]) -> tuple[Block, ...]:
    """Give the laws of all entries of ranks that have several N, what holds for some once."""
    several = [curve for curve in curves if len(curve.usl.counts) > 1]
    told = [(said, curve.stage) for curve in several for said in sentences(curve.amdahl, curve.usl)]
    lines = []
    for said, stages in grouped(told).items():
        holds_for_all = len(stages) == len(several) > 1
        where = "All configurations" if holds_for_all else few(names[stage] for stage in stages)
        lines.append(f"{where}: {said}")
    return (Block(heading="Scaling laws", said=tuple(lines), is_folded=True),) if lines else ()


def _superlinear(curve: Curve, found: CurveFits) -> Iterator[str]:
    """Name every N with efficiency above 1, if a law was cut at 0 or it exceeds the scatter."""
    counts = found.usl.superlinear_at
    serial = (found.amdahl.parameters.get("f"), found.usl.parameters.get("sigma"))
    is_cut = any(shape is not None and shape.at_bound and shape.value == 0 for shape in serial)
    if counts and (is_cut or any("superlinear" in row["flags"] for row in curve.rows)):
        yield (
            f"Efficiency is above 1 at N = {listing(counts)}. Neither law allows that: both are "
            "linear at best."
        )


def _law(fit: Fit) -> str:
    if fit.refusal is not None:
        return f"Not fitted: {fit.refusal.sentence}"
    told = "; ".join(
        _parameter(MEANING[name], parameter, LARGEST[name])
        for name, parameter in fit.parameters.items()
        if name in MEANING
    )
    trials = f"{plural(fit.trials, 'trial')} at N = {listing(fit.counts)}"
    best = "" if fit.optimum is None else f" {_optimum(fit.optimum, fit.counts[-1])}"
    return f"{titled(WRITTEN[fit.law])}, fitted to {trials}: {told}. {_misses(fit)}{best}"


def _parameter(name: str, found: Parameter, largest: float | None) -> str:
    """Give one number by its interval: above 0 and narrow, above 0, or neither."""
    low, high = f"{found.low:.2g}", f"{found.high:.2g}"
    best = f"estimate {found.value:.3g}{', the end of its range' if found.at_bound else ''}"
    if found.low <= 0:
        if largest is not None and found.high >= largest:
            return f"{name} is undetermined: anything from 0 to {high} fits ({best})"
        return f"{name} is not distinguishable from 0: at most {high} (95 % interval; {best})"
    if found.at_bound or found.high - found.low > found.value:
        return f"{name} is above 0 but imprecise: {low} to {high} (95 % interval; {best})"
    return f"{name} = {found.value:.3g} (95 % interval {found.low:.3g} to {found.high:.3g})"


def _misses(fit: Fit) -> str:
    worst = max(fit.residuals, key=lambda residual: abs(residual.log_ratio))
    percent = 100 * abs(worst.log_ratio)
    # Below that there is rounding alone.
    at_most = f"at most {percent:.2g} %" if percent >= LEAST_MISS else f"less than {LEAST_MISS} %"
    beside = {
        True: ", within the scatter of the trials.",
        False: ", more than the trials scatter: the law does not quite describe the curve.",
        None: "; with one trial at each N, scatter and misfit cannot be separated.",
    }[fit.within_scatter]
    return f"It misses the mean wall times by {at_most} (N = {worst.workers}){beside}"


def _optimum(found: Optimum, last: int) -> str:
    if found.refusal is not None:
        return f"No N*: {found.refusal.sentence}"
    best = f"Throughput is highest at N* = {found.workers:.1f}"
    if found.high is not None:
        return f"{best} (95 % interval {found.low:.1f} to {found.high:.1f})."
    return (
        f"{best}, but its 95 % interval, from {found.low:.1f} on, exceeds the largest measured "
        f"N ({last})."
    )
