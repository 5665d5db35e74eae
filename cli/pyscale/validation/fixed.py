"""Fixed settings of a validation: data, seed and parameters."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from pyscale.errors import UserError
from pyscale.plan import Plan, Trial
from pyscale.validation.expected import Expected, ExpectedStage, load_expected


def refuse_other_work(plan: Plan) -> None:
    """Raise where a suite with expected results would do other work than they come from.

    Raises
    ------
    UserError
        If it would, or the expected results cannot be read.
    """
    if plan.suite.expected is None:
        return
    others = list(other_work(plan, load_expected(plan.suite.expected)))
    if others:
        raise UserError(
            f"the suite {plan.suite.name} needs fixed data and parameters, but {others[0]}: "
            "remove that from flags, pyscale.toml and environment, or run the suite pipeline"
        )


def other_work(plan: Plan, expected: Expected) -> Iterator[str]:
    """Name in a clause each thing that a plan does otherwise than what is expected was made by."""
    settings = plan.settings
    if settings["data"] != expected.dataset:
        yield f"the data is {settings['data']} instead of {expected.dataset}"
    if settings["seed"] != expected.seed:
        yield f"the seed is {settings['seed']} instead of {expected.seed}"
    if settings["scaling"] != "strong":
        yield f"scaling is {settings['scaling']}, so workers do not share the whole movie"
    for trial in plan.trials:
        stage = expected.stages.get(trial.entry)
        if trial.is_reference and stage is not None:
            yield from _other_params(trial, stage)


def _other_params(trial: Trial, stage: ExpectedStage) -> Iterator[str]:
    for name in sorted({*trial.params, *stage.params}.difference(stage.free)):
        given, fixed = trial.params.get(name), stage.params.get(name)
        if given != fixed:
            yield f"{name} of {trial.entry} is {_told(given)} instead of {_told(fixed)}"


def _told(value: JsonValue) -> str:
    return "not set" if value is None else str(value)
