"""What the jobs of a suite ask of a site, as the options of sbatch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyscale.doctor.slurmcommands import default_partition
from pyscale.doctor.subject import Entry, Subject
from pyscale.sbatch.options import allocation, slurm_options
from pyscale.sites import Site
from pyscale_stages.contract import Device

MEMORY_OPTIONS = ("mem", "mem-per-cpu")


@dataclass(frozen=True)
class JobRequest:
    """What some entries of a suite ask for alike.

    Attributes
    ----------
    entries : tuple of Entry
    partition : str
    options : dict
        Options of sbatch beside the partition; None for one that takes no value.
    """

    entries: tuple[Entry, ...]
    partition: str
    options: dict[str, str | None]

    @property
    def device(self) -> Device:
        """Where the entries compute."""
        return self.entries[0].device

    @property
    def names_memory(self) -> bool:
        """Whether the memory is asked for."""
        return any(name in self.options for name in MEMORY_OPTIONS)

    def without(self, *names: str) -> JobRequest:
        """The same without some options."""
        kept = {name: value for name, value in self.options.items() if name not in names}
        return replace(self, options=kept)

    def directives(self) -> list[str]:
        """Options as sbatch takes them."""
        options = {"partition": self.partition, **self.options}
        return [
            f"--{name}" if value is None else f"--{name}={value}" for name, value in options.items()
        ]


def job_requests(subject: Subject, site: Site, partition: str | None) -> list[JobRequest]:
    """What the entries of a suite ask of a site; those that ask the same in one.

    Parameters
    ----------
    subject : Subject
    site : Site
    partition : str or None
        In place of the site's own.

    Raises
    ------
    UserError
        If the site's file leaves open what it needs to say, or Slurm does not answer.
    """
    found: list[JobRequest] = []
    for entry in subject.entries:
        wanted = allocation(site, entry.definition, entry.device, subject.cpus_per_worker)
        options = slurm_options(site, wanted)
        named = partition or options.get("partition") or default_partition()
        options.pop("partition", None)
        request = JobRequest((entry,), named, options)
        alike = [
            place
            for place, other in enumerate(found)
            if replace(other, entries=(entry,)) == request and other.device == entry.device
        ]
        if alike:
            known = found[alike[0]]
            found[alike[0]] = replace(known, entries=(*known.entries, entry))
        else:
            found.append(request)
    return found
