"""Jobs that trials run in: one for each run of stages of a kind, as large as the largest trial.

Of a site's own scheduler it is one job on one node: its script, and its life.
"""

from __future__ import annotations

import math
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyscale.errors import UserError
from pyscale.executors.protocol import WINDOWS
from pyscale.executors.submission import asked_by_window, setup_lines, steps_asked
from pyscale.planning.joboptions import Allocation, node_options, site_options, slurm_options
from pyscale.planning.plan import Plan, Trial
from pyscale.planning.sites import Scheduler, Site
from pyscale.processes import ran
from pyscale.sbatch.jobs import script_templates
from pyscale.slurm.commands import longest_min, words_of

PILOT_MIB = 512
"""Memory of the pilot and of the srun of each step, which run beside the first tasks."""
PILOT_SHARE_MIB = 256
"""The same for each task of several: nobody knows which of them share the pilot's node."""
DEFAULT_LIMIT_HOURS = 12.0
SHORTEST_MIN = 15
SPARE = 1.5


@dataclass(frozen=True)
class HeldJob:
    """A job that holds nodes of one kind, and the trials that run in it."""

    trials: tuple[Trial, ...]
    slot: Allocation
    """What one task of the job asks for."""
    slots: int
    """Tasks of the job, each as large as the largest of any trial."""
    workers: int | None = None
    """N of the trials, where the job is for one alone."""

    @property
    def entries(self) -> tuple[str, ...]:
        """Entries of the suite that they are of."""
        return tuple(dict.fromkeys(trial.entry for trial in self.trials))

    @property
    def cores(self) -> int:
        """Cores of all of it."""
        return self.slots * self.slot.cpus

    @property
    def nodes_option(self) -> str:
        """Nodes that are asked for, in the words of `--nodes`."""
        return node_options(self.slot, self.slots)["nodes"]

    def options(self, site: Site, time_min: int) -> dict[str, str | None]:
        """Options of sbatch that ask for the job."""
        slot = self.slot.model_copy(update={"time_min": time_min})
        return slurm_options(site, slot, self.slots)


def refuse_too_many_nodes(plan: Plan, site: Site) -> None:
    """Raise where a job would need more nodes than the site's file allows."""
    for held in held_trials(plan, site):
        most = held.slot.request.max_nodes
        fewest = int(held.nodes_option.partition("-")[0])
        if most is not None and fewest > most:
            raise UserError(
                f"the largest N needs {fewest} nodes, and max_nodes of the site {site.name} is "
                f"{most}: lower --workers, or change the site's file"
            )


def held_trials(plan: Plan, site: Site) -> tuple[HeldJob, ...]:
    """Trials by the job that they run in; the jobs stand in the order of the pipeline."""
    kinds: dict[str, tuple[object, ...]] = {}
    for trial in plan.trials:
        kinds.setdefault(trial.entry, _kind(asked_by_window(plan, trial, site)))
    left = [entry for entry in plan.suite.stages if entry in kinds]
    found = []
    while left:
        together: list[str] = []
        for entry in left:
            step = plan.suite.stages[entry]
            waits_for = {*step.inputs.values(), step.beside}.intersection(left) - {*together}
            if kinds[entry] == kinds[left[0]] and not waits_for:
                together.append(entry)
        left = [entry for entry in left if entry not in together]
        trials = tuple(trial for trial in plan.trials if trial.entry in together)
        for workers in sorted({t.workers for t in trials}) if site.jobs == "each-n" else (None,):
            own = tuple(t for t in trials if workers in {None, t.workers})
            found.append(held_by(plan, site, own, workers))
    return tuple(found)


def _kind(wanted: Allocation) -> tuple[object, ...]:
    """What sets the nodes of a job apart from those of others."""
    return wanted.gpus > 0, *sorted(site_options(wanted).items())


def held_by(plan: Plan, site: Site, trials: Sequence[Trial], workers: int | None = None) -> HeldJob:
    """The smallest job of equal tasks that every one of some trials fits into."""
    steps = [step for trial in trials for step in steps_asked(plan, trial, site)]
    windows = [step.wanted for step in steps if step.name == WINDOWS]
    cpus = max(step.wanted.cpus for step in steps)
    memory_mib = max(step.wanted.memory_mib for step in steps)
    gpus = max(step.wanted.gpus for step in steps)
    slots = max(
        math.ceil(step.at_once / _in_one_slot(step.wanted, cpus, memory_mib, gpus))
        for step in steps
    )
    largest = next(wanted for wanted in windows if wanted.gpus == gpus)
    pilot_mib = PILOT_MIB if slots == 1 else PILOT_SHARE_MIB
    return HeldJob(
        tuple(trials),
        slot=largest.model_copy(
            update={"cpus": cpus, "memory_mib": memory_mib + pilot_mib, "gpus": gpus}
        ),
        slots=slots,
        workers=workers,
    )


def limit_of(held: HeldJob, site: Site) -> int:
    """Minutes that one allocation may ask for, by the site's file, its partition and its QOS."""
    request = held.slot.request
    asked_min = 60 * (request.hold_limit_hours or DEFAULT_LIMIT_HOURS)
    if site.scheduler is not None:
        return max(1, int(asked_min))
    options = request.by_name
    longest = longest_min(options.get("partition"), options.get("qos"))
    return max(1, int(min(asked_min, longest)))


def _in_one_slot(wanted: Allocation, cpus: int, memory_mib: int, gpus: int) -> int:
    fitting = [cpus // wanted.cpus, memory_mib // wanted.memory_mib]
    if wanted.gpus:
        fitting.append(gpus // wanted.gpus)
    return max(1, min(fitting))


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
