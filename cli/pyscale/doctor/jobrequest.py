"""What the jobs of a plan ask of its site, as the options of sbatch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyscale.doctor.subject import Entry, Subject
from pyscale.evaluation.cost import times_of
from pyscale.planning.joboptions import as_words
from pyscale.planning.plan import Plan
from pyscale.planning.sites import Site
from pyscale.sbatch.held import held_trials
from pyscale.slurm.commands import default_partition
from pyscale_stages.contract import Device

MEMORY_OPTIONS = ("mem", "mem-per-cpu")


@dataclass(frozen=True)
class JobRequest:
    """What some entries of a suite ask for alike."""

    entries: tuple[Entry, ...]
    partition: str
    options: dict[str, str | None]
    """Options of sbatch beside the partition; None for one that takes no value."""

    @property
    def device(self) -> Device:
        """Where the entries compute."""
        return self.entries[0].device

    def without(self, *names: str) -> JobRequest:
        """The same without some options."""
        kept = {name: value for name, value in self.options.items() if name not in names}
        return replace(self, options=kept)

    def directives(self) -> list[str]:
        """Options as sbatch takes them."""
        return as_words({"partition": self.partition, **self.options})


def plan_requests(plan: Plan, site: Site) -> list[JobRequest]:
    """What the jobs of a plan ask of its site."""
    entries = {entry.name: entry for entry in Subject.of_plan(plan).entries}
    requests = []
    for one in held_trials(plan, site):
        own = tuple(entries[name] for name in one.entries)
        options = one.held.options(site, times_of(plan, site, one.trials, one.held)[0])
        requests.append(replace(_request(own[0], options), entries=own))
    return requests


def _request(entry: Entry, options: dict[str, str | None]) -> JobRequest:
    named = options.get("partition") or default_partition()
    return JobRequest((entry,), named, options).without("partition")
