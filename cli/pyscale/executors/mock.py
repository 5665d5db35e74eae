"""Tasks that only pretend to run: for the order of things, retries, resuming and failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyscale.executors.protocol import Job
from pyscale.store.records import (
    EXIT_FILE,
    LAUNCH_FILE,
    ORDER_FILE,
    RESULT_FILE,
    SPEC_FILE,
    ExitRecord,
    LaunchRecord,
    TaskOrder,
)
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import (
    Agreement,
    Counters,
    OutputFile,
    Span,
    TaskError,
    TaskResult,
    TaskSpec,
)
from pyscale_stages.measure.stamp import node_name
from pyscale_stages.registry import load_stage


@dataclass(frozen=True)
class MockEnd:
    """How a pretended task ends.

    Attributes
    ----------
    wall_s : float
        The time it claims to have taken.
    returncode : int or None
        Its exit code; None pretends that it vanished without a word.
    agrees : bool
        What a check finds.
    """

    wall_s: float = 1.0
    returncode: int | None = 0
    agrees: bool = True


Behaviour = Callable[[str, str, TaskSpec], MockEnd]
"""Decides by trial, task and spec how a task ends."""


class MockJob:
    """A pretended job; it has ended before anyone can ask."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def id(self) -> str:
        """Trial and task."""
        return self._name

    def is_alive(self) -> bool:
        """Tell that it has ended."""
        return False


class MockExecutor:
    """Writes the records that real tasks would leave.

    Parameters
    ----------
    behaviour : callable, optional
        How each task ends; by default all succeed after one claimed second.

    Attributes
    ----------
    started : list of tuple of str
        Trial and task in the order in which they were started.
    """

    def __init__(self, behaviour: Behaviour = lambda _trial, _task, _spec: MockEnd()) -> None:
        self._behaviour = behaviour
        self.started: list[tuple[str, str]] = []

    def submit(self, folders: Sequence[Path]) -> list[Job]:
        """Pretend to run the tasks, one after the other."""
        return [self._pretend(folder) for folder in folders]

    def end_leftovers(self) -> int:
        """Find nothing: a pretended task never outlives its pyscale."""
        return 0

    def _pretend(self, folder: Path) -> MockJob:
        trial, task = folder.parent.name, folder.name
        self.started.append((trial, task))
        spec = TaskSpec.model_validate_json((folder / SPEC_FILE).read_bytes())
        end = self._behaviour(trial, task, spec)
        now = datetime.now(UTC)
        _write(
            folder / LAUNCH_FILE, LaunchRecord(pid=1, node=node_name(), spawn_utc=now, cpus=(0,))
        )
        if end.returncode == 0:
            _write(folder / RESULT_FILE, _result(spec, end, now))
        elif end.returncode is not None and end.returncode > 0:
            _write(folder / RESULT_FILE, _result(spec, end, now, f"mock failure in {task}"))
        if end.returncode is not None:
            order = TaskOrder.model_validate_json((folder / ORDER_FILE).read_bytes())
            ended = ExitRecord(token=order.token, returncode=end.returncode, end_utc=now)
            _write(folder / EXIT_FILE, ended)
        return MockJob(f"{trial}/{task}")


def _result(spec: TaskSpec, end: MockEnd, now: datetime, error: str | None = None) -> TaskResult:
    outputs: tuple[OutputFile, ...] = ()
    if spec.output is not None and error is None:
        name = load_stage(spec.stage).output
        write_atomically(spec.output / name, "mock output\n")
        outputs = (OutputFile(name=name, size_bytes=12, sha256="mock"),)
    return TaskResult(
        spec=spec,
        status="failed" if error else "done",
        start_utc=now,
        end_utc=now + timedelta(seconds=end.wall_s),
        wall_s=end.wall_s,
        spans=(
            Span(phase="compute", start_monotonic_s=0, end_monotonic_s=end.wall_s, start_utc=now),
        ),
        counters=Counters(frames=1),
        outputs=outputs,
        agreement=Agreement(
            same=end.agrees,
            identical=end.agrees,
            score=float(end.agrees),
            measure="mock",
            tolerance=1,
        )
        if spec.verb == "check"
        else None,
        stamp={"label": "mock"},
        error=TaskError(kind="Mock", message=error, exit_code=end.returncode or 1)
        if error
        else None,
    )


def _write(path: Path, record: LaunchRecord | ExitRecord | TaskResult) -> None:
    write_atomically(path, record.model_dump_json() + "\n")
