"""What the jobs of a plan ask of its site, as the options of sbatch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyscale.doctor.subject import Entry, Subject
from pyscale.evaluation.cost import times_of
from pyscale.executors.protocol import WINDOWS
from pyscale.executors.submission import Submission, submissions
from pyscale.planning.plan import Plan
from pyscale.planning.sites import Site
from pyscale.sbatch.held import held_trials, is_held
from pyscale.sbatch.options import as_words
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
    time_setting: str = "time_min"
    """What in the site's file its time follows from."""

    @property
    def device(self) -> Device:
        """Where the entries compute."""
        return self.entries[0].device

    @property
    def tasks(self) -> int:
        """Jobs of the array, where it is one."""
        last = (self.options.get("array") or "0-0").partition("%")[0].partition("-")[2]
        return int(last) + 1

    def without(self, *names: str) -> JobRequest:
        """The same without some options."""
        kept = {name: value for name, value in self.options.items() if name not in names}
        return replace(self, options=kept)

    def directives(self) -> list[str]:
        """Options as sbatch takes them."""
        return as_words({"partition": self.partition, **self.options})


def plan_requests(plan: Plan, site: Site) -> list[JobRequest]:
    """What the largest jobs of a plan ask of its site, array and gang included."""
    entries = {entry.name: entry for entry in Subject.of_plan(plan).entries}
    if is_held(plan):
        requests = []
        for one in held_trials(plan, site):
            own = [entries[name] for name in dict.fromkeys(trial.entry for trial in one.trials)]
            options = one.held.options(site, times_of(plan, site, one.trials, one.held)[0])
            request = _request(own[0], options)
            requests.append(replace(request, entries=tuple(own), time_setting="hold_limit_hours"))
        return requests
    largest: dict[tuple[str, str], Submission] = {}
    for trial in plan.trials:
        for submission in submissions(plan, trial):
            place = (trial.entry, submission.batch_name)
            if place not in largest or largest[place].tasks < submission.tasks:
                largest[place] = submission
    asked = []
    for (name, _), submission in largest.items():
        entry, options = entries[name], submission.options(site)
        if submission.tasks > 1 and not submission.is_gang:
            options["array"] = f"0-{submission.tasks - 1}%{submission.at_once}"
        if submission.batch_name != WINDOWS:
            entry = entry.model_copy(update={"device": "cpu"})
        asked.append(_request(entry, options))
    # A merge that asks for what one element of an array does is not asked about again.
    covered = [request.without("array") for request in asked if request.tasks > 1]
    return _gathered(request for request in asked if request not in covered)


def _request(entry: Entry, options: dict[str, str | None]) -> JobRequest:
    named = options.get("partition") or default_partition()
    return JobRequest((entry,), named, options).without("partition")


def _gathered(requests: Iterable[JobRequest]) -> list[JobRequest]:
    """Put those that ask for the same into one."""
    found: dict[object, JobRequest] = {}
    for request in requests:
        key = (request.partition, frozenset(request.options.items()), request.device)
        known = found.setdefault(key, request)
        others = [entry for entry in request.entries if entry not in known.entries]
        found[key] = replace(known, entries=(*known.entries, *others))
    return list(found.values())
