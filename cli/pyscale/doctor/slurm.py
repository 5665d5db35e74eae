"""Whether Slurm answers, and whether it would take the jobs of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyscale.evaluation.cost import time_of
from pyscale.findings import Finding, ok, problem
from pyscale.planning.joboptions import as_words
from pyscale.planning.plan import Plan
from pyscale.planning.sites import Site
from pyscale.sbatch.held import held_trials
from pyscale.slurm.commands import Answer, ask, sinfo, slurm_is_here

UNANSWERED = "slurm.answers"
"""The check that fails where Slurm could not be asked."""
NOT_OVERRIDING = frozenset(["SBATCH_DEBUG", "SBATCH_EXPORT", "SBATCH_EXPORT_FILE"])


def slurm() -> Iterator[Finding]:
    """Ask whether Slurm answers, where it is installed; a run on this machine does not need it."""
    if slurm_is_here():
        found = _answers()
        as_warning = {"status": "warning"} if found.status == "problem" else {}
        yield found.model_copy(update=as_warning)


def _answers() -> Finding:
    if not slurm_is_here():
        return problem(
            UNANSWERED,
            "",
            "Slurm's commands are not on PATH",
            "run this on a login node, load Slurm's module, or use --executor local",
        )
    answer = sinfo("%R")
    if answer.code == 0:
        return ok(UNANSWERED, "", f"Slurm has the partitions {' '.join(answer.out.split())}")
    return problem(
        UNANSWERED,
        "",
        f"Slurm's controller does not answer ({answer.complaint})",
        "see the site's announcements; `scontrol ping` shows when it is back",
    )


def refusals(plan: Plan, site: Site) -> Iterator[Finding]:
    """Let Slurm judge each job of a plan without submitting it."""
    answers = _answers()
    if answers.status == "problem":
        yield answers
        return
    for one in held_trials(plan, site):
        options = one.options(site, time_of(plan, site, one.trials, one))
        answer = _judged(options)
        if answer.code == 0:
            continue
        # Slurm says of many an option only that no such node is available.
        decisive = [f"--{name}" for name in options if _judged(_without(options, name)).code == 0]
        yield problem(
            "slurm.submission",
            f"the job of {', '.join(one.entries)}",
            f"Slurm refuses {' '.join(as_words(options))} ({answer.complaint})",
            f"change {' or '.join(decisive) or 'it'} by the site's file, or lower --workers",
        )


def _without(options: Mapping[str, str | None], name: str) -> dict[str, str | None]:
    return {other: value for other, value in options.items() if other != name}


def _judged(options: Mapping[str, str | None]) -> Answer:
    # sbatch wants a script even for a test: this one runs the program `true`.
    return ask("sbatch", "--test-only", *as_words(options), "--wrap=true")


def overriding(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look for variables that sbatch obeys before what a script says."""
    found = sorted(
        f"{name}={value}"
        for name, value in environment.items()
        if name.startswith("SBATCH_") and name not in NOT_OVERRIDING
    )
    if found:
        yield problem(
            "slurm.environment",
            ", ".join(found),
            "it would override the site's file",
            "set it in the site's file, and unset it here",
        )
