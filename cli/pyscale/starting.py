"""How a run begins, by command or from Python: it is planned and checked, and has its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyscale.console import talk
from pyscale.data.registry import load_registry
from pyscale.doctor.preflight import before_run
from pyscale.errors import UserError
from pyscale.measuring.benchmark import plan_run
from pyscale.measuring.following import Here, Queued
from pyscale.measuring.holding import Holder
from pyscale.planning.joboptions import warn_of_no_gpus
from pyscale.planning.placement import local_placement
from pyscale.planning.plan import Plan
from pyscale.planning.planner import warn_of_too_many_workers
from pyscale.planning.runsettings import settings_for
from pyscale.planning.sites import Site
from pyscale.planning.suite import Suite, suite_names
from pyscale.resources import shipped
from pyscale.runtimes.starting import freeze_containers
from pyscale.settings import Settings
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Listener
from pyscale.store.lock import written_by_owner_alone
from pyscale.validation.judging import refuse_other_work


def planned(
    suite: str | Suite | None, flags: Mapping[str, Any], only: Sequence[str], *, accept_terms: bool
) -> Plan:
    """Plan a new run, and say what it would do otherwise than meant."""
    if suite is None:
        raise UserError(
            f"name a suite to run: {', '.join(suite_names())}; or give a command of your own by "
            "--step"
        )
    if isinstance(suite, str):
        _refuse_data(suite)
    settings = settings_for(suite, dict(flags))
    _refuse_unfitting(settings, flags)
    plan = plan_run(suite, settings, only, accept_terms=accept_terms)
    refuse_other_work(plan)
    warn_of_sharing(plan)
    warn_of_plan(plan, plan.site)
    return plan


def warn_of_plan(plan: Plan, site: Site | None) -> None:
    """Say what will fail, and what may lack a GPU on the nodes of a cluster with Slurm."""
    # Of another scheduler's GPUs its file says enough in {gpus}.
    on_site = () if site is None or site.scheduler else warn_of_no_gpus(plan, site)
    for sentence in (*warn_of_too_many_workers(plan), *on_site):
        talk(f"warning: {sentence}")


def created(plan: Plan) -> RunFolder:
    """Check what a plan needs of this machine, and make the folder of its run."""
    before_run(plan)
    for line in plan.data_lines:
        talk(line)
    containers = freeze_containers(plan)
    with written_by_owner_alone():
        return RunFolder.create(Path(plan.settings["runs_folder"]), plan, containers)


def carried_by(run: RunFolder, listener: Listener) -> Here | Holder:
    """What carries a run out where its plan says, and tells of it as it comes."""
    kind = Holder if run.plan.site else Queued if run.plan.queue else Here
    return kind(run, listener)


def _refuse_data(suite: str) -> None:
    """Raise where data stands in the place of the suite."""
    if suite in suite_names() or suite.endswith(".toml"):
        return
    if suite in load_registry(shipped("config")).datasets or Path(suite).suffix or "/" in suite:
        raise UserError(
            f"{suite} is not a suite: to measure on it, run `pyscale run pipeline --data {suite}`, "
            "or give a command of your own by --step"
        )


def _refuse_unfitting(settings: Settings, flags: Mapping[str, Any]) -> None:
    """Raise where what is asked for has no meaning where tasks run."""
    if settings.executor == "local" and flags.get("site") is not None:
        raise UserError(
            "--site tells of a cluster, and this run is on this machine: add --executor slurm "
            "(or job, where its scheduler is another one), or --emit DIR to write scripts "
            "for it, or leave that out"
        )
    if settings.at_most and flags.get("repeats") is not None:
        raise UserError("--at-most stands in place of --repeats: give one of them")
    if settings.until and not settings.at_most:
        raise UserError("--until needs to know how long it may take: add --at-most, as in 30min")


def warn_of_sharing(plan: Plan) -> None:
    """Say before the start that workers will share cores or GPUs."""
    if plan.site is not None or plan.queue is not None:
        return
    sharing: dict[str, set[int]] = {}
    for trial in plan.trials:
        threads = plan.threads_of(trial)
        placement = local_placement(threads)
        place = placement.of(0, trial.processes, trial.device, trial.gpus)
        if place.shared:
            by_cores = trial.processes > placement.most_workers
            what = f"{threads} core(s)" if by_cores else "GPUs"
            sharing.setdefault(what, set()).add(trial.workers)
    for what, counts in sorted(sharing.items()):
        talk(
            f"warning: this machine cannot give each of N = {', '.join(map(str, sorted(counts)))} "
            f"workers {what} of its own: their times will be flagged as oversubscribed"
        )
