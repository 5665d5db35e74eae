"""Comparison of the two versions of the stages of one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from pyscale.analysis.comparison import comparison
from pyscale.analysis.judging import MARGIN
from pyscale.evaluation.runfacts import SHA_DIGITS, Difference, Facts, differences
from pyscale.planning.baseversion import OF_BASE
from pyscale.planning.plan import Plan
from pyscale.report.comparison import ComparisonContext, OutputComparison, VersionComparison

MOST_TOLD = 5
"""Differences that a sentence names."""
NEW = {
    "environment": "this environment",
    "images": "the images of this run",
    "parameters": "the parameters of this run",
}
"""The new version, by the kind of the base."""


def between_versions(
    plan: Plan,
    manifest: Mapping[str, Any],
    tasks: pl.DataFrame,
    trials: pl.DataFrame,
    *,
    at_least: float = MARGIN,
) -> VersionComparison | None:
    """Compare the two versions that a run measured; None where it measured one."""
    versions = plan.versions
    if not versions or plan.base is None:
        return None
    new_names = {base: new for new, base in versions.items()}
    stage = pl.col("stage")
    new = trials.filter(stage.is_in(list(versions)))
    base = trials.filter(stage.is_in(list(new_names))).with_columns(stage.replace(new_names))
    # A point of a grid is also set beside another point.
    of_base = [trial.id for trial in plan.trials if trial.entry in new_names]
    compared = pl.col("beside_trial").is_in(of_base) & stage.is_in(list(versions))
    outputs = tasks.filter(compared).select(
        *("stage", "device", "workers"),
        output_agreement="beside_agreement",
        output_tolerance="beside_tolerance",
        output_identical="beside_identical",
        output_measure="beside_measure",
    )
    one = ["stage", "device", "workers"]
    table = comparison(base, new, paired=True, at_least=at_least).join(
        outputs, on=one, how="left", maintain_order="left"
    )
    context = ComparisonContext(
        base=str(plan.base),
        new=f"{NEW[plan.base.kind]}, in {plan.title}",
        measured_here=True,
        paired=True,
        at_least=at_least,
        differences=tuple(differences_in(plan, manifest)),
        outputs=tuple(_output(entry, table.filter(stage == entry)) for entry in versions),
    )
    return VersionComparison(context=context, table=table)


def differences_in(plan: Plan, manifest: Mapping[str, Any] | None = None) -> list[Difference]:
    """List in what both versions of a plan differ; the manifest of its run knows more of it."""
    return differences(*(_facts(plan, manifest, is_base=which) for which in (True, False)))


def told_of_base(plan: Plan) -> str:
    """Say in a sentence what a plan measures its stages against, and in what that differs."""
    found = differences_in(plan)
    told = [f"{one.what} ({one.base} -> {one.new})" for one in found[:MOST_TOLD]]
    if len(found) > MOST_TOLD:
        told.append(f"and {len(found) - MOST_TOLD} more")
    which = ", ".join(plan.versions)
    if plan.base is not None and plan.base.kind == "images":
        return f"{which}: measured against {plan.base}"
    same = "no known difference, so this is an A/A run"
    return f"{which}: measured against {plan.base}; {', '.join(told) or same}"


def _facts(plan: Plan, manifest: Mapping[str, Any] | None, *, is_base: bool) -> Facts:
    """Code and parameters of one version."""
    code: dict[str, str] = {}
    settings: dict[str, str] = {}
    base = plan.base
    own = None if base is None else base.identities.get("base" if is_base else "new")
    if own is not None:
        code |= {"python": own.python, "code of the stages (sha256)": own.code_sha256[:SHA_DIGITS]}
        code |= own.packages
    if manifest is not None:
        code |= dict(_recorded(plan, manifest, is_base=is_base))
    for new, older in plan.versions.items():
        entry = older if is_base else new
        trial = next(trial for trial in plan.trials if trial.entry == entry)
        settings |= {f"{name} of {new}": str(value) for name, value in trial.params.items()}
    return {"code": code, "settings": settings}


def _recorded(
    plan: Plan, manifest: Mapping[str, Any], *, is_base: bool
) -> Iterator[tuple[str, str]]:
    """Images of one version, and the packages that its tasks found there."""
    for image in (manifest["containers"] or {}).get("images", ()):
        if image["name"].endswith(OF_BASE) == is_base:
            name = image["name"].removesuffix(OF_BASE)
            yield f"image {name} (sha256)", image["sha256"][:SHA_DIGITS]
            yield f"commit of image {name}", (image["git_commit"] or "")[:SHA_DIGITS]
    for stage in dict.fromkeys(plan.suite.stage_name(entry) for entry in plan.versions):
        versions = manifest["base"]["versions"] if is_base else manifest["versions"]
        for package, version in versions.get(stage, {}).items():
            yield f"{package} in {stage}", version


def _output(entry: str, rows: pl.DataFrame) -> OutputComparison:
    """Whether both versions of an entry computed the same, at every N."""
    known = rows.drop_nulls("output_agreement")
    if known.is_empty():
        return OutputComparison(stage=entry, found="unknown")
    worst = known.sort("output_agreement").row(0, named=True)
    found = "same" if known["output_identical"].all() else "agrees"
    if (known["output_agreement"] < known["output_tolerance"]).any():
        found = "different"
    return OutputComparison.model_validate(
        {
            "stage": entry,
            "found": found,
            "score": worst["output_agreement"],
            "tolerance": worst["output_tolerance"],
            "measure": worst["output_measure"],
        }
    )
