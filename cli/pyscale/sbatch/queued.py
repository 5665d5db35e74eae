"""One job of a site's own scheduler, in which one node works a run off: its script and its life."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from pyscale.errors import UserError
from pyscale.executors.submission import setup_lines
from pyscale.planning.plan import Plan
from pyscale.planning.sites import Scheduler, Site
from pyscale.processes import ran
from pyscale.sbatch.held import held_by, limit_of
from pyscale.sbatch.jobs import script_templates
from pyscale.slurm.commands import words_of

TEMPLATE = "job.sh.j2"


def script_of_job(plan: Plan, site: Site, folder: Path, log: Path) -> str:
    """The script of the job that works off the run of a folder, for a site's scheduler."""
    in_image = any(trial.image is not None for trial in plan.trials)
    command = [sys.executable, "-m", "pyscale", "work", str(folder)]
    return (
        script_templates()
        .get_template(TEMPLATE)
        .render(
            directives=head_of_job(plan, site),
            setup=setup_lines(site, in_image=in_image),
            log=shlex.quote(str(log)),
            command=shlex.join(command),
        )
    )


def head_of_job(plan: Plan, site: Site) -> list[str]:
    """Lines that ask for a job which every trial of a plan fits into."""
    held = held_by(plan, site, plan.trials)
    return _scheduler(site).head(
        f"pyscale-{plan.run_id}",
        held.cores,
        held.slots * held.slot.gpus,
        held.slots * held.slot.memory_mib,
        limit_of(held, site),
    )


def submit_job(site: Site, script: Path) -> str:
    """Submit a script by a site's own command; return the id of its job."""
    scheduler = _scheduler(site)
    said = _run(site, f"{scheduler.submit} {shlex.quote(str(script))}")
    found = re.search(scheduler.job_id, said)
    if found is None:
        raise UserError(
            f"no job's id was found in what `{scheduler.submit}` said ({words_of(said)}): correct "
            f"job_id in [scheduler] of the site {site.name}; the job may wait in the queue"
        )
    return found[1]


def is_alive(site: Site, job_id: str) -> bool:
    """Whether a job waits or runs, as a site's own command answers."""
    command = _scheduler(site).alive.format(job=job_id)
    return ran(["bash", "-c", command]).returncode == 0


def cancel_job(site: Site, job_id: str) -> None:
    """Have a job ended by a site's own command."""
    _run(site, _scheduler(site).cancel.format(job=job_id))


def _run(site: Site, command: str) -> str:
    done = ran(["bash", "-c", command])
    if done.returncode != 0:
        raise UserError(
            f"`{command}` of the site {site.name} failed with exit code {done.returncode} "
            f"({words_of(done.stderr or done.stdout)}): mend that, or the command in [scheduler] "
            "of the site's file"
        )
    return done.stdout


def _scheduler(site: Site) -> Scheduler:
    assert site.scheduler is not None, "its jobs are Slurm's"
    return site.scheduler
