"""Result of a fit of a scaling law: parameters, residuals, or the reason for a refusal."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from pyscale_stages.contract import Record

LawName = Literal["amdahl", "usl"]

LEAST_DEGREES = 2
"""Degrees of freedom below which no fit is given."""
POOR_FIT = 0.10
"""Residual standard deviation that a law may have, as a fraction of the wall times."""


class Refusal(Record):
    """Reason for a missing number."""

    code: str = Field(description="Name of the reason, the same in every release")
    sentence: str = Field(description="The reason with its numbers, for people")


class Parameter(Record):
    """One parameter of a law; the interval is cut at the ends of what it can be."""

    value: float = Field(description="Best value within the parameter's range")
    low: float = Field(description="Lower end of the 95 % interval")
    high: float = Field(description="Upper end of the 95 % interval")
    at_bound: bool = Field(
        description="The value is an end of the range: without ranges the fit lies outside, though "
        "by no more than noise"
    )


class Residual(Record):
    """Misfit of a law at one N."""

    workers: int = Field(description="N")
    trials: int = Field(description="Trials at this N")
    wall_s: float = Field(
        description="Geometric mean of the measured wall times, of an average block and with "
        "outliers pulled in; where the work grew with N, of those for as much work as the "
        "baseline's"
    )
    fitted_s: float = Field(description="What the law says")
    log_ratio: float = Field(description="ln(measured / fitted): 0.03 is 3 % slower than the law")


class OnLaw(Record):
    """Value of a law at one N, with the ends of its 95 % band."""

    workers: float
    wall_s: float = Field(description="For as much work as the baseline's")
    wall_s_low: float
    wall_s_high: float
    speedup: float = Field(description="Over what the law says of N0")
    speedup_low: float
    speedup_high: float


class Optimum(Record):
    """N* of the universal scalability law, where throughput is highest."""

    workers: float | None = Field(description="N*; None where refused")
    low: float | None = Field(
        description="Lower end of the 95 % interval; None beyond what was measured"
    )
    high: float | None = Field(
        description="Upper end of the 95 % interval; None beyond what was measured"
    )
    refusal: Refusal | None = Field(description="Why N* is not given")


class Fit(Record):
    """One law fitted to the trials of one curve."""

    law: LawName = Field(description="amdahl or usl, the universal scalability law")
    counts: tuple[int, ...] = Field(description="Every N that was measured, rising")
    trials: int = Field(description="Trials that entered the fit")
    parameters: dict[str, Parameter] = Field(
        {},
        description="t1_s and f (amdahl) or lambda_per_s, sigma and kappa (usl); empty if refused. "
        "t1_s and lambda_per_s speak of N = 1, be it measured or not, and of the baseline's work",
    )
    residuals: tuple[Residual, ...] = Field((), description="By rising N; empty without a fit")
    line: tuple[OnLaw, ...] = Field((), description="From N0 to the largest N; empty if refused")
    residual_sd: float | None = Field(
        None,
        description="Standard deviation of ln(wall time) about the law fitted without ranges; it "
        "scales the intervals",
    )
    degrees_of_freedom: int | None = Field(
        None,
        description="Of residual_sd: trials less parameters and blocks or, where the law misses "
        "the means by more than the trials scatter, values of N less parameters",
    )
    within_scatter: bool | None = Field(
        None,
        description="The law misses the means by no more than the trials scatter; None where no N "
        "was repeated or there is no fit",
    )
    superlinear_at: tuple[int, ...] = Field(
        description="Every N whose efficiency is above 1, by noise or not"
    )
    refusal: Refusal | None = Field(None, description="Why there are no parameters")
    optimum: Optimum | None = Field(
        None, description="N* of the usl; None for amdahl and if refused"
    )


WRITTEN: dict[LawName, str] = {
    "amdahl": "Amdahl's law",
    "usl": "the universal scalability law",
}
OUTSIDE = {
    ("f", False): ("superlinear", "N workers together were more than N times as fast as one"),
    ("sigma", False): ("superlinear", "a few workers were more than proportionally fast"),
    ("f", True): ("slowing", "more workers took longer than one"),
    ("sigma", True): ("slowing", "a second worker made it slower"),
    ("kappa", False): ("convex", "efficiency recovers at large N"),
}
"""Code and meaning of a parameter that lies, beyond noise, below what its law allows, or above."""
REFUSALS = {
    "problem-grew": "{law} is a law of one problem; here the work {how}.",
    "few-counts": "{law} needs at least {needed} values of N; this curve has {counts}.",
    "few-degrees": "{law} leaves {degrees} of freedom, and needs {least}: measure at more values "
    "of N.",
    "poor-fit": "{law} misses the wall times by {miss:.0f} % (residual standard deviation: over "
    "the values of N less the parameters; limit {limit:.0f} %), {why}",
    "misfit": "{law} misses the mean wall times by {miss:.2g} % (residual standard deviation), "
    "more "
    "than the trials scatter; {counts} values of N are too few for intervals that include this "
    "misfit.",
    "undetermined": "These trials do not determine the parameters of {law}.",
    **{
        code: "{name} would be {low:.3g} to {high:.3g} (99 % interval), outside the range of "
        "{law}: {what}."
        for code, _ in OUTSIDE.values()
    },
}
"""Why a law is not fitted, by code."""


def refusal(code: str, law: LawName, **numbers: Any) -> Refusal:
    """Refuse a law for one of `REFUSALS`."""
    return Refusal(code=code, sentence=REFUSALS[code].format(law=WRITTEN[law], **numbers))
