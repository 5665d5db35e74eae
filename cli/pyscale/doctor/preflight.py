"""Checks of a plan on this machine before its first trial, in under a second.

For a cluster the nodes are not looked at, but what every node shares with this machine, and Slurm
is asked whether it would take the jobs.
What planning refuses is not looked at again, nor are the images, which the run verifies itself;
no stage's library is imported: `pyscale doctor` does that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from pyscale.console import talk
from pyscale.doctor.examined import absent_packages, distinct, folder_of, is_native
from pyscale.doctor.files import FULL_DISK, first_frame, out_of_nodes_sight, page_cache, place, room
from pyscale.doctor.machine import devices, memory, thread_variables
from pyscale.errors import UserError
from pyscale.evaluation.cost import time_of
from pyscale.findings import Finding, ok, problem, refused
from pyscale.planning.joboptions import as_words
from pyscale.planning.plan import Plan, Trial
from pyscale.planning.sites import Site
from pyscale.sbatch.held import held_trials
from pyscale.slurm.commands import Answer, ask, sinfo, slurm_is_here
from pyscale_stages.errors import ResourceExhausted, StageError
from pyscale_stages.libraries import how_to_install
from pyscale_stages.registry import load_stage


def before_run(plan: Plan, *, asks_slurm: bool = True) -> None:
    """Refuse a plan that cannot be carried out; say what it would do otherwise than meant."""
    say(preflight(plan, asks_slurm=asks_slurm))


def say(findings: Iterable[Finding]) -> None:
    """Refuse for the first problem; else say what there is to warn of."""
    findings = list(findings)
    refuse(findings)
    for finding in findings:
        talk(f"warning: {finding}")


def refuse(findings: Iterable[Finding]) -> None:
    """Raise the first problem."""
    for finding in findings:
        if finding.status == "problem":
            kind = ResourceExhausted if finding.code == FULL_DISK else UserError
            raise kind(str(finding))


def of_dry_run(plan: Plan) -> list[Finding]:
    """What a run of a plan would say before its first trial; a Slurm that is silent is a warning.

    A plan may be looked at where no Slurm is.
    """
    return [
        found.model_copy(update={"status": "warning"}) if found.code == UNANSWERED else found
        for found in preflight(plan)
    ]


def preflight(plan: Plan, *, asks_slurm: bool = True) -> list[Finding]:
    """Problems and warnings of a plan, without importing any stage's library."""
    looks = [*_looks(plan)]
    if plan.site is not None:
        # What jobs inherit.
        looks += overriding(os.environ)
        looks += refusals(plan, plan.site) if asks_slurm else ()
    looks += first_frame(plan)
    return list(dict.fromkeys(found for found in looks if found.status != "ok"))


def _looks(plan: Plan) -> Iterator[Finding]:
    """Look at this machine, or at what the nodes of a cluster see as this machine does."""
    here = plan.site is None and plan.queue is None
    if here:
        yield from devices(plan)
    for trial in distinct(plan):
        # An image has what its stages need, and a step of the user's own is no part of it.
        if is_native(trial):
            yield from _native(trial, here=here)
    # Outputs are as large as a movie, and there are but times of patches that are loaded.
    if plan.movie is not None and plan.suite.data != "slides":
        yield from room(folder_of(plan, "runs_folder"), plan.input_bytes)
    yield from thread_variables(os.environ, plan)
    if not here:
        yield from out_of_nodes_sight(plan)
        return
    yield memory(plan)
    if plan.movie is not None and plan.settings["cache"] == "cold":
        for folder in (folder_of(plan, "runs_folder"), plan.movie.parent):
            yield page_cache(folder, "cold")
    yield from place(plan)


def _native(trial: Trial, *, here: bool) -> Iterator[Finding]:
    """Look for what a stage needs in this environment."""
    stage = load_stage(trial.stage)
    absent = absent_packages(stage, trial.params)
    if absent:
        yield problem(
            "stage.libraries",
            trial.entry,
            f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed here",
            how_to_install(stage.libraries(trial.params)[1], absent),
        )
        return
    try:
        stage.needs.look(stage.params.model_validate(trial.params), trial.device, here)
    except StageError as error:
        yield refused("stage.works", trial.entry, error)


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
