"""What the files of a task say about it: the only source of a task's state."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Literal, TypeVar

from pydantic import Field, ValidationError

from pyscale.errors import UserError
from pyscale.runtimes.words import killed_by, unpacked_its_image, why_no_container
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import CacheState, Record, Residency, TaskError, TaskResult
from pyscale_stages.measure.pagecache import Eviction

R = TypeVar("R", bound=Record)

SPEC_FILE = "spec.json"
PARAMS_FILE = "params.json"
RESULT_FILE = "result.json"
CACHE_FILE = "cache.json"
SURROUNDINGS_FILE = "surroundings.json"
# The launcher knows these three by name, because it must start without importing this module.
ORDER_FILE = "order.json"
LAUNCH_FILE = "launch.json"
EXIT_FILE = "exit.json"
NODE_FILE = "node.{node}.json"
_JOBS_SUFFIX = ".jobs.json"
_LOG_BYTES = 4096


class ContainerOrder(Record):
    """What the launcher adds where a container program starts the task: the node knows it."""

    variable_prefix: str = Field(description="Before a variable's name, so that it gets inside")
    option_prefix: str = Field(description="Before the name of a variable that sets an option")
    passed: tuple[str, ...] = Field(description="Variables of the node that the task must see")
    gpu: bool = Field(description="The task computes on a GPU")
    scratch_prefix: str = Field(description="How the names of this run's scratch folders begin")


class Requested(Record):
    """What a cluster was asked to give a task."""

    cpus: int
    memory_bytes: int | None = Field(description="Absent where the site takes no such request")
    time_limit_s: int
    gpus: int


class NodeWork(Record):
    """What the first task of a trial does on each node, before any task of the trial reads there.

    pyscale itself does it where tasks run on its own machine.
    """

    folder: Path = Field(description="Folder of the trial, which takes the node's record")
    cache: Literal["cold", "warm", "asis"] = Field(description="Page-cache state that is asked for")
    inputs: tuple[Path, ...]


class TaskOrder(Record):
    """What the launcher on the node has to start."""

    token: str = Field("", description="Drawn for each order anew; the task's records repeat it")
    submit_utc: datetime | None = Field(None, description="Absent in a draft")
    argv: tuple[str, ...] = Field(description="Command line of the task's process")
    env: dict[str, str] = Field(default_factory=dict, description="Variables added to the node's")
    container: ContainerOrder | None = Field(None, description="Absent for a native task")
    cpus: tuple[int, ...] = Field((), description="Cores to pin to; none leaves it to the node")
    oversubscribed: bool = Field(False, description="Another worker shares these cores or GPU")
    slot: int | None = Field(
        None, description="Which of the N workers processes it, where pyscale decides that"
    )
    requested: Requested | None = Field(None, description="Absent on this machine")
    node_work: NodeWork | None = Field(None, description="Absent where pyscale has done it")
    clock: str | None = Field(
        None, description="Addresses and port at which the orchestrator tells its time to nodes"
    )


class ClockOffset(Record):
    """How far a node's clock is from the orchestrator's, by an exchange of times."""

    offset_s: float = Field(description="The node's clock minus the orchestrator's")
    error_s: float = Field(description="Half the round trip: the offset is known no better")


class LaunchRecord(Record):
    """Written by the launcher on the node as soon as the task's process is there."""

    token: str = Field(description="That of the order")
    pid: int
    node: str
    begin_utc: datetime = Field(description="When the launcher began, by the node's clock")
    spawn_utc: datetime = Field(description="When the task's process was started")
    job_id: str | None = Field(None, description="Slurm's, like 17 or 17_3")
    clock: ClockOffset | None = Field(None, description="Absent where it was not to be had")
    cpus: tuple[int, ...] = Field(description="Cores that the process is pinned to")


class ExitRecord(Record):
    """Written by the launcher when the task's process has ended.

    Its token is that of the order: a launcher of an earlier attempt, if one should outlive it,
    cannot end the attempt that took its folder.
    """

    token: str
    returncode: int | None = Field(
        description="Negative: the signal that ended it; None: it left no word of its own"
    )
    end_utc: datetime
    cause: TaskError | None = Field(
        None, description="Why it left no word, where somebody else knows, as Slurm does"
    )


class Jobs(Record):
    """Jobs that tasks of a trial were submitted as, so that a later pyscale finds them."""

    job_ids: dict[str, str] = Field(description="Task -> job")


class TrialCache(Record):
    """Page-cache state that the inputs of a trial were brought to before it began."""

    asked: Literal["cold", "warm", "asis"]
    state: CacheState | Literal["asis"]
    evictions: tuple[Eviction, ...] = Field((), description="Each file, where cold was asked")
    files: tuple[Residency, ...] = Field((), description="Each file, where it was not")


class Bystanders(Record):
    """What else ran on a machine at a moment when no worker of the run did."""

    node: str
    cores: int = Field(description="Processors of the machine, whoever may use them")
    pyscale_tasks: int = Field(description="Processes of pyscale's stages, of other runs")
    runnable: float = Field(
        description="Processes and threads that wanted a processor; pyscale and what it started "
        "are left out"
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
            seen.pyscale_tasks > 0 or (seen.runnable >= 1 and seen.runnable + threads > seen.cores)
            for seen in (self.start, self.end)
            if seen is not None
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


def read_task(folder: Path) -> TaskRecord:
    """Derive the state of a task from its files.

    A task is done when its process ended with 0 and its record says so; it has failed when its
    process ended otherwise, with or without a record.
    """
    order = read_record(TaskOrder, folder / ORDER_FILE)
    if order is None:
        return TaskRecord(state="absent")
    launch = read_record(LaunchRecord, folder / LAUNCH_FILE)
    ended = read_record(ExitRecord, folder / EXIT_FILE)
    if ended is not None and ended.token != order.token:
        ended = None
    result = read_record(TaskResult, folder / RESULT_FILE)
    if ended is None:
        state: Literal["running", "queued"] = "running" if launch else "queued"
        return TaskRecord(state=state, order=order, launch=launch)
    if ended.returncode == 0 and result is not None and result.status == "done":
        return TaskRecord(state="done", order=order, launch=launch, result=result)
    return TaskRecord(
        state="failed",
        order=order,
        launch=launch,
        result=result,
        error=result.error if result and result.error else _error_of(ended, order, folder),
    )


def has_ended(folder: Path) -> bool:
    """Whether a task that was ordered has an exit record; cheaper than `read_task`."""
    order = read_record(TaskOrder, folder / ORDER_FILE)
    ended = read_record(ExitRecord, folder / EXIT_FILE)
    return order is not None and ended is not None and order.token == ended.token


def write_order(folder: Path, order: TaskOrder) -> str:
    """Order a task, and return the order's token; nothing slow comes before its submission."""
    new = order.model_copy(update={"token": token_hex(8), "submit_utc": datetime.now(UTC)})
    write_atomically(folder / ORDER_FILE, new.model_dump_json(indent=1) + "\n")
    return new.token


def write_vanished(folder: Path, cause: TaskError | None = None) -> None:
    """Record that a task's job is gone and left no exit record."""
    order = read_record(TaskOrder, folder / ORDER_FILE)
    if order is not None:
        ended = ExitRecord(
            token=order.token, returncode=None, end_utc=datetime.now(UTC), cause=cause
        )
        write_atomically(folder / EXIT_FILE, ended.model_dump_json() + "\n")


def was_killed(folder: Path) -> bool:
    """Whether a signal ended a task's process, while its launcher lived to record that."""
    order, ended = (
        read_record(TaskOrder, folder / ORDER_FILE),
        read_record(ExitRecord, folder / EXIT_FILE),
    )
    if order is None or ended is None or ended.returncode is None:
        return False
    return ended.returncode < 0 or (
        order.container is not None and killed_by(ended.returncode) is not None
    )


def explain_kill(folder: Path, cause: TaskError) -> None:
    """Add to a task's exit record who killed its process."""
    ended = read_record(ExitRecord, folder / EXIT_FILE)
    if ended is not None and ended.cause is None:
        told = ended.model_copy(update={"cause": cause})
        write_atomically(folder / EXIT_FILE, told.model_dump_json() + "\n")


def write_jobs(trial_folder: Path, name: str, jobs: Jobs) -> None:
    """Record the jobs of a step of a trial: `windows`, `merge` or `check`."""
    write_atomically(trial_folder / f"{name}{_JOBS_SUFFIX}", jobs.model_dump_json() + "\n")


def read_jobs(trial_folder: Path) -> dict[str, str]:
    """Task -> job of all that were submitted of a trial."""
    found = (read_record(Jobs, file) for file in trial_folder.glob(f"*{_JOBS_SUFFIX}"))
    return {task: job for jobs in found if jobs for task, job in jobs.job_ids.items()}


def image_was_unpacked(folder: Path) -> bool:
    """Whether a task's container program unpacked its image because it could not mount it."""
    try:
        with (folder / "stderr").open("rb") as log:
            return unpacked_its_image(log.read(_LOG_BYTES).decode("utf-8", "replace"))
    except OSError:
        return False


def read_cache(trial_folder: Path) -> TrialCache | None:
    """Page-cache state of a trial's inputs, where it was prepared."""
    return read_record(TrialCache, trial_folder / CACHE_FILE)


def read_surroundings(trial_folder: Path) -> Surroundings | None:
    """What else ran around a trial, where that was looked at."""
    return read_record(Surroundings, trial_folder / SURROUNDINGS_FILE)


def read_node(trial_folder: Path, node: str) -> NodeRecord | None:
    """What the first task of a trial on a node did there, where that was its work."""
    return read_record(NodeRecord, trial_folder / NODE_FILE.format(node=node))


def _error_of(ended: ExitRecord, order: TaskOrder, folder: Path) -> TaskError:
    if ended.cause is not None:
        return ended.cause
    if ended.returncode is None:
        return TaskError(
            kind="Lost",
            message="the process vanished without a word: its launcher was killed or its node died",
            exit_code=1,
        )
    if ended.returncode < 0:
        return _killed(-ended.returncode)
    last_words = _end_of(folder / "stderr")
    if order.container is not None:
        ended_by = killed_by(ended.returncode)
        if ended_by is not None:
            return _killed(ended_by)
        known = why_no_container(last_words, ended.returncode)
        if known is not None:
            return TaskError(kind="Container", message=str(known), exit_code=known.exit_code)
    last_line = last_words.strip().rpartition("\n")[2]
    return TaskError(
        kind="Failed",
        message=last_line or f"the process ended with {ended.returncode} and said nothing",
        exit_code=ended.returncode,
    )


def _killed(number: int) -> TaskError:
    return TaskError(
        kind="Killed",
        message=f"the process was ended by {_signal_name(number)} "
        "(often: out of memory, or cancelled)",
        exit_code=3,
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _end_of(path: Path) -> str:
    """Last lines of a log, reading only its end."""
    try:
        with path.open("rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - _LOG_BYTES))
            return log.read().decode("utf-8", "replace")
    except OSError:
        return ""


def read_record(model: type[R], path: Path) -> R | None:
    """Read a record that may not be there yet.

    Raises
    ------
    UserError
        If it is there and cannot be read: taking it for absent would run its task again.
    """
    try:
        return model.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise UserError(
            f"the record {path} cannot be read by this pyscale: it is damaged, or another version "
            "wrote it; use that version, or remove its task's folder to run the task again"
        ) from error
