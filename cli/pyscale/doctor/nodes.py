"""Asks every node of a partition: one small job each, answers gathered as they come."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError
from watchfiles import watch

from pyscale.doctor.findings import Finding, Status
from pyscale.doctor.jobrequest import JobRequest
from pyscale.doctor.probe import NodeAnswer, Request, answer_file
from pyscale.errors import UserError, last_line
from pyscale.interruption import ENDING, blocked, termination_as_interrupt
from pyscale.planning.sites import Site
from pyscale.slurm.commands import NodeState, ask
from pyscale_stages.atomic import write_atomically

REQUEST = "request.json"
SCRIPT = "probe.sh"
JOB_LIMIT_MIN = 10
"""A probe takes seconds where libraries load in seconds; a job that hangs ends by itself."""
GRACE_S = 10.0
"""What another node has written can take that long to be seen here, over NFS."""
REFRESH_MS = 1000
QUEUE_PERIOD_S = 3.0
"""Between two questions to the controller, which serves all users."""

Settled = Callable[[int], None]
"""Hears how many nodes have answered or are given up."""


class Probes:
    """Jobs under way in a folder that all nodes see, and what has become of each node.

    The jobs are named like the folder. `silent` has a finding, with the reason, for each node that
    will not answer; `waiting` the job of each that may.
    """

    def __init__(self, folder: Path, job: JobRequest) -> None:
        self.folder = folder
        # A probe takes seconds: the site's own time limit would keep it in the queue.
        self._job = job.without("time")
        self.answers: list[NodeAnswer] = []
        self.silent: list[Finding] = []
        self.waiting: dict[str, str] = {}
        self._gone_since_s: dict[str, float] = {}

    def submit(self, node: NodeState) -> None:
        """Send a job to a node; one that takes none is not waited for."""
        if not node.able:
            self._lose(
                node.name,
                "warning",
                f"{node.condition} and was not checked",
                "see `scontrol show node`; check again when it is back",
            )
            return
        # A Ctrl-C between the submission and its record would leave a job unknown.
        with blocked(*ENDING):
            answer = ask(
                "sbatch",
                "--parsable",
                f"--job-name={self.folder.name}",
                f"--nodelist={node.name}",
                f"--time={JOB_LIMIT_MIN}",
                f"--output={self._log(node.name)}",
                *self._job.directives(),
                str(self.folder / SCRIPT),
            )
            if answer.code == 0:
                # In a federation the cluster's name follows the id.
                self.waiting[node.name] = answer.out.strip().partition(";")[0]
                return
        self._lose(
            node.name,
            "problem",
            f"gets no job ({answer.complaint})",
            "name a --site whose file has the options that this cluster requires",
        )

    def collect(self) -> None:
        """Read the answers that have come."""
        for node in list(self.waiting):
            try:
                told = answer_file(self.folder, node).read_bytes()
            except FileNotFoundError:
                continue
            try:
                self.answers.append(NodeAnswer.model_validate_json(told))
            except ValidationError:
                self._lose(
                    node,
                    "problem",
                    "runs another version of pyscale and returned an unreadable answer",
                    "install pyscale once, where every node sees it",
                )
            self.waiting.pop(node, None)

    def lose_ended(self) -> None:
        """Give up nodes whose job ended a while ago without an answer."""
        states = self._states()
        if states is None:
            return  # The controller is busy, and will be asked again.
        now_s = time.monotonic()
        for node, job in list(self.waiting.items()):
            if job in states:
                continue
            if now_s - self._gone_since_s.setdefault(node, now_s) > GRACE_S:
                last = last_line(self._log(node)) or "nor any output"
                self._lose(
                    node,
                    "problem",
                    f"ended its job {job} without an answer ({last})",
                    f"check that this node sees {sys.executable} and {self.folder.parent}",
                )

    def lose_waiting(self, wait_s: float) -> None:
        """Give up nodes that have not answered in time."""
        # Asked before they are cancelled, which would be their state.
        states = self._states() or {}
        jobs = list(self.waiting.items())
        self.cancel()
        for node, job in jobs:
            self._lose(
                node,
                "warning",
                f"has not answered in {wait_s / 60:g} min (job: {states.get(job, 'unknown')})",
                "wait longer (--wait MINUTES), or check again when it is free",
            )

    def cancel(self) -> None:
        """Cancel the jobs that have not answered."""
        if self.waiting:
            ask("scancel", *self.waiting.values())

    def _states(self) -> dict[str, str] | None:
        """State and reason of each job that Slurm still knows of; None where it does not tell."""
        arguments = ("--noheader", f"--name={self.folder.name}", "--format=%i|%T, %r")
        answer = ask("squeue", *arguments)
        if answer.code != 0:
            return None
        lines = (line.strip().partition("|") for line in answer.out.splitlines())
        return {job: state.lower() for job, _, state in lines}

    def _lose(self, node: str, status: Status, what: str, remedy: str) -> None:
        self.waiting.pop(node, None)
        self.silent.append(
            Finding(check=f"node.{node}", status=status, sentence=f"{node} {what}", remedy=remedy)
        )

    def _log(self, node: str) -> Path:
        return self.folder / f"{node}.log"


def ask_nodes(
    nodes: Sequence[NodeState],
    request: Request,
    job: JobRequest,
    site: Site,
    *,
    wait_s: float,
    settled: Settled,
) -> tuple[list[NodeAnswer], list[Finding]]:
    """Ask nodes by a job each; gather their answers, and a finding for each node without one.

    Whatever ends this, no job and no file stay behind. They answer in the folder of the runs; those
    that have not in `wait_s` are named, and their jobs cancelled.
    """
    with _exchange(request.subject.runs_folder) as folder, termination_as_interrupt():
        write_atomically(folder / REQUEST, request.model_dump_json(indent=1) + "\n")
        write_atomically(folder / SCRIPT, script(folder / REQUEST, site))
        probes = Probes(folder, job)
        try:
            for node in nodes:
                probes.submit(node)
            _gather(probes, wait_s, lambda left: settled(len(nodes) - left))
        finally:
            with blocked(*ENDING):
                probes.cancel()
    return probes.answers, probes.silent


def script(request_file: Path, site: Site) -> str:
    """Batch script of a probe job: the Python that runs this, after the site's own lines."""
    program = shlex.join([sys.executable, "-m", "pyscale.doctor.probe", str(request_file)])
    # The node's shell knows the variables in these.
    folders = " ".join(f'"{folder}"' for folder in (site.scratch or "", *site.binds))
    modules = [f"module load {shlex.quote(module)}" for module in site.modules]
    return "\n".join(["#!/bin/bash", *site.setup, *modules, f"exec {program} {folders}", ""])


def _gather(probes: Probes, wait_s: float, left: Callable[[int], None]) -> None:
    """Wait until each node has answered or will not."""
    begin_s = asked_s = time.monotonic()
    # Files that other nodes write to a network filesystem make no event: a look now and then.
    for _ in watch(
        probes.folder, recursive=False, rust_timeout=REFRESH_MS, yield_on_timeout=True, step=50
    ):
        probes.collect()
        now_s = time.monotonic()
        if now_s - asked_s > QUEUE_PERIOD_S:
            asked_s = now_s
            probes.lose_ended()
        if now_s - begin_s > wait_s:
            probes.lose_waiting(wait_s)
        left(len(probes.waiting))
        if not probes.waiting:
            return


@contextmanager
def _exchange(runs_folder: Path) -> Iterator[Path]:
    """A folder of this examination's own, which the nodes see where they see the runs."""
    try:
        runs_folder.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".pyscale-doctor-", dir=runs_folder))
    except OSError as error:
        raise UserError(
            f"{runs_folder} cannot be written ({error.strerror}), but the nodes answer there: "
            "set runs_folder to a folder that all nodes see"
        ) from error
    try:
        yield folder
    finally:
        # On NFS a file that a dying job holds open leaves another in its place for a while.
        shutil.rmtree(folder, ignore_errors=True)
