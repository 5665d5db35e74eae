"""A task's files: the only source of its state."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, Field

from pyscale_stages.contract import Record, TaskError, TaskResult
from pyscale_stages.measure.pagecache import Eviction
from pyscale_stages.reading import Reading
from pyscale_stages.record import Amount, Bytes, Count, Whole
from pyscale_stages.residency import CacheState, Residency

SPEC_FILE = "spec.json"
PARAMS_FILE = "params.json"
RESULT_FILE = "result.json"
CACHE_FILE = "cache.json"
SURROUNDINGS_FILE = "surroundings.json"
MEETING_FOLDER, MEETING_FILE = "meeting", "ranks"
# The launcher knows most of these by name, because it must start without importing this module.
ORDER_FILE = "order.json"
WITHDRAWN_FILE = "order.withdrawn.json"
LAUNCH_FILE = "launch.json"
EXIT_FILE = "exit.json"
NODE_FILE = "node.{node}.json"


class ContainerOrder(Record):
    """What the launcher adds where a container program starts the task: the node knows it."""

    passed: tuple[str, ...] = Field(description="Variables of the node that the task must see")
    gpu: bool = Field(description="The task computes on a GPU")
    scratch_prefix: str = Field(description="How the names of this run's scratch folders begin")


class Requested(Record):
    """What a cluster was asked to give a task."""

    cpus: Count
    memory_bytes: Bytes | None = Field(description="Absent where the site takes no such request")
    time_limit_s: Count
    gpus: Count


class NodeWork(Record):
    """What the first task of a trial does on each node, where pyscale itself has not done it."""

    folder: Path = Field(description="Folder of the trial, which takes the node's record")
    cache: Literal["cold", "warm", "asis"] = Field(description="Page-cache state that is asked for")
    inputs: tuple[Path, ...]
    reading: Reading | None = Field(None, description="What of the first is read, if it is a movie")


class TaskOrder(Record):
    """What the launcher on the node has to start."""

    token: str = Field("", description="Drawn for each order anew; the task's records repeat it")
    submit_utc: AwareDatetime | None = Field(None, description="Absent in a draft")
    argv: tuple[str, ...] = Field(description="Command line of the task's process")
    env: dict[str, str] = Field(default_factory=dict, description="Variables added to the node's")
    container: ContainerOrder | None = Field(None, description="Absent for a native task")
    scratch_prefix: str | None = Field(
        None, description="How the name of a native task's scratch folder begins; None: it has none"
    )
    cpus: tuple[Whole, ...] = Field((), description="Cores to pin to; none leaves it to the node")
    oversubscribed: bool = Field(False, description="Another worker shares these cores or GPU")
    slot: Whole | None = Field(
        None, description="Which of the N workers processes it, where pyscale decides that"
    )
    requested: Requested | None = Field(None, description="Absent on this machine")
    node_work: NodeWork | None = Field(None, description="Absent where pyscale has done it")
    meeting: Path | None = Field(
        None, description="Where the task's ranks meet, and hear how others ended; None: nowhere"
    )
    as_before: str | None = Field(
        None,
        description="Trial with an output of the same bytes, whose comparison holds for this one "
        "too, so that nothing is started",
    )
    rank: Whole | None = Field(None, description="Which of them it is, from 0; None without others")


class LaunchRecord(Record):
    """Written by the launcher on the node as soon as the task's process is there."""

    token: str = Field(description="That of the order")
    pid: Count
    node: str
    begin_utc: AwareDatetime = Field(description="When the launcher began, by the node's clock")
    spawn_utc: AwareDatetime = Field(description="When the task's process was started")
    job_id: str | None = Field(None, description="Slurm's, like 17 or 17_3")
    cpus: tuple[Whole, ...] = Field(
        description="Cores that the process is pinned to; none where it may run on any, as on macOS"
    )


class ExitRecord(Record):
    """Written by the launcher when the task's process has ended.

    By its token, a launcher of an earlier attempt cannot end the attempt that took its folder.
    """

    token: str
    returncode: Whole | None = Field(
        description="Negative: the signal that ended it; None: it left no word of its own"
    )
    end_utc: AwareDatetime
    cause: TaskError | None = Field(
        None, description="Why it left no word, where somebody else knows, as Slurm does"
    )


class TrialCache(Record):
    """Page-cache state that the inputs of a trial were brought to before it began."""

    asked: Literal["cold", "warm", "asis"]
    state: CacheState | Literal["asis"]
    evictions: tuple[Eviction, ...] = Field((), description="Each file, where cold was asked")
    files: tuple[Residency, ...] = Field((), description="Each file, where it was not")


class Bystanders(Record):
    """What else ran on a machine at a moment when no worker of the run did."""

    node: str
    cores: Whole = Field(description="Processors of the machine, whoever may use them")
    pyscale_tasks: Whole = Field(description="Processes of pyscale's stages, of other runs")
    runnable: Amount | None = Field(
        description="Processes and threads that wanted a processor; pyscale and what it started "
        "are left out. None where the operating system does not tell, as macOS"
    )


class Surroundings(Record):
    """What else ran on the machine just before the workers of a trial and just after them."""

    start: Bystanders
    end: Bystanders | None = Field(
        None, description="Absent where other workers of the trial still ran on the node"
    )

    def disturb(self, threads: int) -> bool:
        """Whether workers with so many threads had to share, at either moment."""
        return any(
            seen.pyscale_tasks > 0 or (wanting >= 1 and wanting + threads > seen.cores)
            for seen in (self.start, self.end)
            if seen is not None
            for wanting in (seen.runnable or 0,)
        )


class NodeRecord(Record):
    """What the first task of a trial on a node found and did there, before any of them read."""

    cache: TrialCache
    surroundings: Surroundings


class TaskRecord(Record):
    """All that is known of one task."""

    state: Literal["absent", "queued", "running", "done", "failed"]
    order: TaskOrder | None = None
    launch: LaunchRecord | None = None
    result: TaskResult | None = None
    error: TaskError | None = None
