"""The validation of a run: its records beside what its suite expects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyscale.plan import Plan
from pyscale.references.model import Loaded
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from pyscale.validation.expected import Expected, load_expected
from pyscale.validation.findings import ValidationFindings
from pyscale.validation.fixed import other_work
from pyscale.validation.judging import judged
from pyscale.validation.measured import measured_entries
from pyscale.validation.speed import speeds

if TYPE_CHECKING:
    import polars as pl


def validation_of(
    run: RunFolder, trials: pl.DataFrame, work_id: str | None, references: Iterable[Loaded]
) -> ValidationFindings | None:
    """Judge a run; None where its suite expects nothing.

    Parameters
    ----------
    run : RunFolder
    trials : polars.DataFrame
        Its table of trials.
    work_id : str or None
        Fingerprint of its work; None where it is not known, and then no times are compared.
    references : iterable of Loaded
        Whatever others measured.

    Raises
    ------
    UserError
        If the expected results cannot be read.
    """
    plan = run.plan
    if plan.suite.expected is None:
        return None
    expected = load_expected(plan.suite.expected)
    found = judged(expected, measured_entries(run), _fed_by(plan), _why_unfit(run, expected))
    return found.model_copy(update={"speeds": tuple(speeds(trials, work_id, references))})


def _fed_by(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {entry: tuple(step.inputs.values()) for entry, step in plan.suite.stages.items()}


def _why_unfit(run: RunFolder, expected: Expected) -> str:
    """Say in a clause why what it gave proves nothing; empty where it does."""
    for clause in other_work(run.plan, expected):
        return clause
    given = {file.name: file.sha256 for file in read_provenance(run.path).input_files}
    others = [name for name, sha256 in expected.inputs.items() if given.get(name) != sha256]
    if not others:
        return ""
    return (
        f"{' and '.join(others)} is made from the same seed and has other bytes than in the "
        "reference installation, as where NumPy draws or rounds otherwise (there: "
        f"{expected.reference.software})"
    )
