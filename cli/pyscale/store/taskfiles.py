"""Reads and writes the records of tasks and trials; a task's state follows from its files alone."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from textwrap import shorten
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from pyscale.errors import UserError, end_of
from pyscale.interruption import killed_by, signal_name
from pyscale.store.containererrors import unpacked_its_image, why_no_container
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import WHY_UNREADABLE
from pyscale.store.records import (
    CACHE_FILE,
    EXIT_FILE,
    LAUNCH_FILE,
    NODE_FILE,
    ORDER_FILE,
    RESULT_FILE,
    SURROUNDINGS_FILE,
    WITHDRAWN_FILE,
    ExitRecord,
    LaunchRecord,
    NodeRecord,
    Surroundings,
    TaskOrder,
    TaskRecord,
    TrialCache,
)
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record, TaskError, TaskResult
from pyscale_stages.errors import EXIT_BAD_INPUT, StageError
from pyscale_stages.measure.stamp import Stamp
from pyscale_stages.registry import load_stage
from pyscale_stages.wording import first_problem

R = TypeVar("R", bound=Record)

MEMORY_LIMIT = "OutOfMemory"
LIMITS = {MEMORY_LIMIT, "TimeLimit"}
"""Kinds of error by which a cluster says that a task needed more than it had asked for."""

_LOG_BYTES = 4096
_LONGEST_PROBLEM = 200
_OF_OTHER_VERSIONS = {"missing", "extra_forbidden"}


class RecordError(UserError):
    """A record that is there and cannot be used; the problem is told in a clause."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path, self.problem = path, shorten(problem, _LONGEST_PROBLEM, placeholder=" …")
        super().__init__(
            f"the record {path} cannot be read by this pyscale ({self.problem}): "
            f"{WHY_UNREADABLE}; remove its task's folder to run the task again"
        )


def read_task(folder: Path) -> TaskRecord:
    """Derive the state of a task from its files; RecordError where one of them cannot be read.

    A task is done when its process ended with 0 and its record says so; it has failed when its
    process ended otherwise, with or without a record.
    """
    order = read_record(TaskOrder, folder / ORDER_FILE)
    if order is None:
        return TaskRecord(state="absent")
    launch = read_record(LaunchRecord, folder / LAUNCH_FILE)
    ended = read_record(ExitRecord, folder / EXIT_FILE)
    # The launcher of an earlier attempt wrote them, whose folder this one took.
    if launch is not None and launch.token != order.token:
        launch = None
    if ended is not None and ended.token != order.token:
        ended = None
    result = _read(folder / RESULT_FILE, TaskResult, _parsed_result)
    if result is not None:
        _refuse_wrong_stamp(result.stamp, folder / RESULT_FILE)
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
        error=result.error if result and result.error else _error_of(ended, order, launch, folder),
    )


def why_not_again(error: TaskError) -> str | None:
    """Say why the same task would fail the same way; None where it may do better next time."""
    if error.exit_code == EXIT_BAD_INPUT:
        return "the same input gives the same error"
    if error.kind in LIMITS:
        return "the same request would end the same way"
    return None


def fails_again(run: RunFolder) -> bool:
    """Whether a task of a run failed in a way that the same command would repeat."""
    for trial in run.plan.trials:
        for task in trial.tasks:
            # Of a record that cannot be read the tables tell, and leave its trial out.
            with suppress(RecordError):
                error = read_task(run.task(trial, task)).error
                if error is not None and why_not_again(error):
                    return True
    return False


def has_ended(folder: Path) -> bool:
    """Whether a task that was ordered has an exit record; cheaper than `read_task`."""
    # Mostly the exit record is not there, and then nothing else needs to be read.
    ended = read_record(ExitRecord, folder / EXIT_FILE)
    if ended is None:
        return False
    order = read_record(TaskOrder, folder / ORDER_FILE)
    return order is not None and order.token == ended.token


def write_order(folder: Path, order: TaskOrder) -> str:
    """Order a task, and return the order's token; nothing slow comes before its submission."""
    new = order.model_copy(update={"token": token_hex(8), "submit_utc": datetime.now(UTC)})
    write_atomically(folder / ORDER_FILE, new.model_dump_json(indent=1) + "\n")
    return new.token


def write_vanished(folder: Path) -> None:
    """Record that a task's job is gone and left no exit record."""
    order = read_record(TaskOrder, folder / ORDER_FILE)
    if order is not None:
        ended = ExitRecord(token=order.token, returncode=None, end_utc=datetime.now(UTC))
        write_atomically(folder / EXIT_FILE, ended.model_dump_json() + "\n")


def was_killed(folder: Path) -> bool:
    """Whether a signal ended a task's process, while its launcher lived to record that."""
    order = read_record(TaskOrder, folder / ORDER_FILE)
    ended = read_record(ExitRecord, folder / EXIT_FILE)
    if order is None or ended is None or ended.returncode is None:
        return False
    in_container = order.container is not None
    return killed_by(ended.returncode, in_container=in_container) is not None


def ended_by_another(folder: Path) -> bool:
    """Whether a task left no word of its own: its process was killed, or never began."""
    ended = read_record(ExitRecord, folder / EXIT_FILE)
    return ended is not None and (ended.returncode is None or was_killed(folder))


def forget_ends_by_another(trial_folder: Path, tasks: Collection[str]) -> None:
    """Take a trial's tasks that were killed, or left no word, for tasks that have not ended."""
    for folder in (trial_folder / task for task in tasks):
        if ended_by_another(folder):
            (folder / EXIT_FILE).unlink()


def explain_end(folder: Path, cause: TaskError | None) -> None:
    """Add to a task's exit record why it left no word of its own, where that is known."""
    ended = read_record(ExitRecord, folder / EXIT_FILE)
    if ended is not None and ended.cause is None and cause is not None:
        told = ended.model_copy(update={"cause": cause})
        write_atomically(folder / EXIT_FILE, told.model_dump_json() + "\n")


def withdraw_orders(trial_folder: Path, tasks: Collection[str]) -> None:
    """Take back the orders of tasks that nobody will end: they count as never begun."""
    for folder in (trial_folder / task for task in tasks):
        if (folder / ORDER_FILE).exists() and not (folder / EXIT_FILE).exists():
            (folder / ORDER_FILE).rename(folder / WITHDRAWN_FILE)


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


def _error_of(
    ended: ExitRecord, order: TaskOrder, launch: LaunchRecord | None, folder: Path
) -> TaskError:
    code = ended.returncode
    if ended.cause is not None:
        return ended.cause
    if code is None:
        message = "the process vanished without a message: its launcher was killed or its node died"
        return TaskError(kind="Lost", message=message, exit_code=1)
    killer = killed_by(code, in_container=order.container is not None)
    if killer is not None:
        where = f" on {launch.node}" if launch is not None else ""
        message = (
            f"the process{where} was killed by {signal_name(killer)} (often: out of memory, or "
            "cancelled)"
        )
        return TaskError(kind="Killed", message=message, exit_code=3)
    last_words = end_of(folder / "stderr")
    known = why_no_container(last_words, code) if order.container else None
    if known is not None:
        return TaskError(kind="Container", message=str(known), exit_code=known.exit_code)
    last_line = last_words.strip().rpartition("\n")[2]
    message = last_line or f"the process ended with {code} and no message"
    return TaskError(kind="Failed", message=message, exit_code=code)


def read_record(model: type[R], path: Path) -> R | None:
    """Read a record that may not be there yet.

    One that cannot be read is a RecordError: to take it for absent would run its task again.
    """
    return _read(path, model, model.model_validate_json)


def _read(path: Path, model: type[R], parsed: Callable[[bytes], R]) -> R | None:
    try:
        return parsed(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordError(path, error.strerror or str(error)) from error
    except ValidationError as error:
        raise RecordError(path, first_problem(error, model)) from error


def _parsed_result(told: bytes) -> TaskResult:
    """A result whose samples can be used."""
    result = TaskResult.model_validate_json(told)
    # A stage of a package that is not installed here keeps its samples for itself.
    with suppress(StageError):
        # Most results have none, and a status reads thousands.
        for kind in load_stage(result.spec.stage).samples if result.samples else ():
            result.of(kind)
    return result


def _refuse_wrong_stamp(stamp: dict[str, Any], path: Path) -> None:
    """Raise where a stamp holds what its readers cannot take; another version may hold less."""
    try:
        Stamp.model_validate(stamp)
    except ValidationError as error:
        wrong = [found for found in error.errors() if found["type"] not in _OF_OTHER_VERSIONS]
        if wrong:
            where = ".".join(map(str, ("stamp", *wrong[0]["loc"])))
            raise RecordError(path, f"{where!r}: {wrong[0]['msg']}") from error
