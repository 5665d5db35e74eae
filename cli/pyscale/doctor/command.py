"""`pyscale doctor`: findings about this machine, or the nodes of a partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field
from rich.console import Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID

from pyscale.console import answer, vanishing_progress
from pyscale.doctor import probe
from pyscale.doctor.data import found_movie
from pyscale.doctor.findings import (
    Finding,
    differences_table,
    findings_table,
    verdict_line,
)
from pyscale.doctor.jobrequest import JobRequest, job_requests
from pyscale.doctor.nodes import ask_nodes
from pyscale.doctor.slurm import slurm
from pyscale.doctor.subject import Subject
from pyscale.images.lockfile import ImageFolder
from pyscale.planning.runsettings import settings_for
from pyscale.planning.sites import Site, load_site
from pyscale.slurm.commands import nodes_of
from pyscale_stages.contract import Record
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.wording import plural

EXIT_PROBLEM = 1


def doctor(
    suite: str,
    *,
    device: str | None,
    partition: str | None,
    site: str | None,
    wait_min: float,
    as_json: bool,
) -> int:
    """Examine, print what was found, and return the exit code."""
    settings = settings_for(suite, {"device": device, "site": site})
    if partition is None and site is None:
        subject = Subject.of_suite(suite, settings)
        with _progress() as progress:
            findings = _examined(subject, probe.ON_THIS_MACHINE, progress)
        findings += slurm(())
        found = Diagnosis(node=node_name(), suite=subject.suite, findings=tuple(findings))
    else:
        cluster = load_site(settings.site)
        subject = Subject.of_suite(suite, settings, cluster)
        found = _on_nodes(subject, cluster, partition, 60 * wait_min)
    if as_json:
        print(found.model_dump_json(indent=1))  # noqa: T201 - the command's answer
    else:
        _show(found)
    return EXIT_PROBLEM if found.has_problem else 0


def _on_nodes(subject: Subject, site: Site, partition: str | None, wait_s: float) -> Diagnosis:
    requests = job_requests(subject, site, partition)

    def demand(job: JobRequest) -> tuple[bool, float]:
        needed_gib = max(one.definition.resources.memory_gib for one in job.entries)
        return job.device == "cuda", needed_gib

    # Where entries ask one partition for different jobs, the most demanding looks at its nodes.
    of_partition = {job.partition: job for job in sorted(requests, key=demand)}
    nodes = {name: nodes_of(name) for name in of_partition}
    with _progress() as progress:
        findings = [*_examined(subject, probe.BESIDE_THE_NODES, progress), *slurm(requests)]
        answers: list[probe.NodeAnswer] = []
        between: list[probe.Difference] = []
        for name, job in of_partition.items():
            entries = [
                entry for other in requests if other.partition == name for entry in other.entries
            ]
            # Their entries alone; on a cluster each task is a job.
            of_one = subject.model_copy(update={"workers": 1, "entries": tuple(entries)})
            paths = tuple(dict.fromkeys(_needed_everywhere(of_one)))
            bar = progress.add_task(f"asking the nodes of {name}", total=len(nodes[name]))

            def settled(count: int, bar: TaskID = bar) -> None:
                progress.update(bar, completed=count)

            of_nodes, silent = ask_nodes(
                nodes[name],
                probe.Request(subject=of_one, paths=paths),
                job,
                site,
                wait_s=wait_s,
                settled=settled,
            )
            answers += of_nodes
            between += probe.differences(of_nodes)
            findings += [*_everywhere(of_nodes, name), *silent]
    return Diagnosis(
        node=node_name(),
        suite=subject.suite,
        partitions=tuple(of_partition),
        findings=tuple(findings),
        differences=tuple(between),
        nodes=tuple(answers),
    )


def _needed_everywhere(subject: Subject) -> Iterator[Path]:
    """What is here and must be on each node."""
    yield subject.runs_folder
    movie = found_movie(subject) if subject.reads_movie else None
    yield from (path for path in (movie, subject.place) if path is not None)
    if subject.runtime == "apptainer":
        folder = ImageFolder(subject.images_folder)
        yield from (sif for name in subject.image_names() if (sif := folder.sif(name)).exists())


def _everywhere(answers: Sequence[probe.NodeAnswer], partition: str) -> Iterator[Finding]:
    """What all nodes of a partition have in common and is not well."""
    where = f"all {len(answers)} nodes" if len(answers) > 1 else "the node"
    for finding in probe.in_common(answers):
        if finding.status in {"warning", "problem"}:
            sentence = f"on {where} of {partition}: {finding.sentence}"
            yield finding.model_copy(update={"sentence": sentence})


def _examined(
    subject: Subject, groups: tuple[probe.Checks, ...], progress: Progress
) -> list[Finding]:
    bar: TaskID = progress.add_task("", total=len(groups))

    def listen(what: str) -> None:
        progress.update(bar, description=f"looking at {what}")
        progress.advance(bar)

    found = probe.examine(subject, groups, listen)
    progress.remove_task(bar)
    return found


def _show(found: Diagnosis) -> None:
    title = f"{found.suite} on {found.node}"
    if found.partitions:
        title += f" and {plural(len(found.nodes), 'node')} of {', '.join(found.partitions)}"
    parts = [findings_table(found.findings, title)]
    if found.differences:
        parts.append(differences_table(found.differences, len(found.nodes)))
    answer(Group(*parts, verdict_line(found.findings, found.differences)))


def _progress() -> Progress:
    return vanishing_progress("{task.description}", BarColumn(), MofNCompleteColumn())


class Diagnosis(Record):
    """Everything that was found; `--json` prints it."""

    schema_version: Literal[1] = 1
    node: str = Field(description="Name of the machine that this was started on")
    suite: str
    partitions: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = Field(
        description="Of this machine, what all nodes have in common, and nodes that are silent"
    )
    differences: tuple[probe.Difference, ...] = Field(
        (), description="Between the nodes of a partition"
    )
    nodes: tuple[probe.NodeAnswer, ...] = Field((), description="All that each node answered")

    @property
    def has_problem(self) -> bool:
        """Whether a run would fail, here or on a node."""
        everything = (*self.findings, *(difference.finding for difference in self.differences))
        return any(finding.status == "problem" for finding in everything)
