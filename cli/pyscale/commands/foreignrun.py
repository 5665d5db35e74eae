"""Going on with another user's run, which executes what that user ordered."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.planning.plan import Plan
from pyscale.store.folder import RunFolder

_EXECUTED = ("command", "merge", "check", "environment", "image", "factory")
"""Parameters of stages that name programs, or where they are taken from."""


def refuse_foreign(run: RunFolder, *, agreed: bool) -> None:
    """Raise where a run is another user's, with what it would execute; only say it where agreed."""
    if run.other_owner is None:
        return
    what = (
        f"the run {run.path.name} belongs to {run.other_owner}, and you would execute what it "
        "orders"
    )
    lines = "".join(f"\n  {line}" for line in dict.fromkeys(_executed_by(run.plan)))
    if not agreed:
        raise UserError(
            f"{what}: read it below, then add --foreign, or start a run of your own{lines}"
        )
    talk(f"warning: {what}{lines}")


def _executed_by(plan: Plan) -> Iterator[str]:
    """What of a plan decides which programs run, a line each; stages that are installed aside."""
    if plan.site is not None:
        yield from (f"setup: {line}" for line in plan.site.setup)
        asked = (plan.site.request, *plan.site.override)
        yield from (f"option of sbatch: {option}" for one in asked for option in one.options)
    for trial in plan.trials:
        if trial.interpreter is not None:
            yield f"{trial.entry}: Python {trial.interpreter}"
        for name in _EXECUTED:
            if value := trial.params.get(name):
                words = map(str, value) if isinstance(value, list | tuple) else [str(value)]
                yield f"{trial.entry}: {name} {shlex.join(words)}"
