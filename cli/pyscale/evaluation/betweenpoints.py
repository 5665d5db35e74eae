"""Comparison of the points of one run: devices, versions or other values of `versus`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from pyscale.analysis.comparison import comparison
from pyscale.analysis.judging import MARGIN
from pyscale.planning.plan import Plan, Trial
from pyscale.planning.runfacts import SHA_DIGITS, Difference, Facts, differences
from pyscale.report.comparison import ComparisonContext, OutputComparison, VersionComparison


def between_points(
    plan: Plan,
    manifest: Mapping[str, Any],
    tasks: pl.DataFrame,
    trials: pl.DataFrame,
    *,
    at_least: float = MARGIN,
) -> VersionComparison | None:
    """Compare each point with that of the first value of `versus`; None where a run has one."""
    pairs, versus = plan.compared, plan.suite.versus
    if not pairs or versus is None:
        return None
    stage = pl.col("stage")
    new = trials.filter(stage.is_in(list(pairs)))
    # Each point beside its own copy of what it is compared with, under its name and device.
    base = pl.concat(
        trials.filter(stage == older).with_columns(
            stage=pl.lit(entry), device=pl.lit(_first(plan, entry).device)
        )
        for entry, older in pairs.items()
    )
    outputs = tasks.filter(pl.col("beside_trial").is_not_null()).select(
        *("stage", "device", "workers"),
        output_agreement="beside_agreement",
        output_tolerance="beside_tolerance",
        output_identical="beside_identical",
        output_measure="beside_measure",
    )
    table = comparison(base, new, paired=True, at_least=at_least).join(
        outputs, on=["stage", "device", "workers"], how="left", maintain_order="left"
    )
    of_base, of_new = (
        ", ".join(dict.fromkeys(str(plan.suite.stages[entry].point[versus]) for entry in entries))
        for entries in (pairs.values(), pairs)
    )
    context = ComparisonContext(
        base=f"{versus} {of_base}",
        new=f"{versus} {of_new}, in {plan.title}",
        measured_here=True,
        paired=True,
        at_least=at_least,
        differences=tuple(_differences(plan, manifest)),
        outputs=tuple(_output(entry, table.filter(stage == entry)) for entry in pairs),
    )
    return VersionComparison(context=context, table=table)


def _first(plan: Plan, entry: str) -> Trial:
    return next(trial for trial in plan.trials if trial.entry == entry)


def _differences(plan: Plan, manifest: Mapping[str, Any]) -> list[Difference]:
    """List in what the points differ, where two values were compared."""
    pairs = plan.compared
    if len({*pairs.values()}) < len(pairs):
        return []
    return differences(_facts(plan, manifest, pairs.values()), _facts(plan, manifest, pairs))


def _facts(plan: Plan, manifest: Mapping[str, Any], entries: Any) -> Facts:
    """Code and parameters of one side, by the names of the families."""
    images = {one["name"]: one for one in (manifest["containers"] or {}).get("images", ())}
    code: dict[str, str] = {}
    settings: dict[str, str] = {}
    for entry in entries:
        trial, family = _first(plan, entry), plan.suite.stages[entry].family
        found = plan.identities.get(str(trial.interpreter or trial.image))
        if found is not None:
            code |= {"python": found.python}
            code |= {"code of the stages (sha256)": found.code_sha256[:SHA_DIGITS]}
            code |= found.packages
        if trial.image in images:
            image = images[trial.image]
            code[f"image of {family} (sha256)"] = image["sha256"][:SHA_DIGITS]
            code[f"commit of the image of {family}"] = (image["git_commit"] or "")[:SHA_DIGITS]
        settings |= {f"{name} of {family}": str(value) for name, value in trial.params.items()}
    return {"code": code, "settings": settings}


def _output(entry: str, rows: pl.DataFrame) -> OutputComparison:
    """Whether a point of a grid computed what the one that it is compared with did, at every N."""
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
