"""Tasks that only pretend to run: for the order of things, retries, resuming and failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyscale.executors.protocol import Batch, Executor
from pyscale.store import records
from pyscale.store.taskfiles import explain_end, write_order, write_vanished
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
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.registry import load_stage


@dataclass(frozen=True)
class MockEnd:
    """How a pretended task ends."""

    wall_s: float = 1.0
    returncode: int | None = 0
    """Its exit code, or minus a signal; None pretends that it vanished without a word."""
    agrees: bool = True
    error: TaskError | None = None
    """Why it failed; where it was killed or vanished somebody else knows, as Slurm does."""


Behaviour = Callable[[str, str, TaskSpec], MockEnd]
"""Decides by trial, task and spec how a task ends.

What it raises kills the pretended pyscale, and leaves this task running and the others queued.
"""


class MockExecutor(Executor):
    """Writes the records that real tasks would leave, and keeps what was asked of it."""

    def __init__(
        self,
        behaviour: Behaviour = lambda _trial, _task, _spec: MockEnd(),
        *,
        on_this_node: bool = True,
    ) -> None:
        self._behaviour = behaviour
        self.on_this_node = on_this_node
        self.started: list[tuple[str, str]] = []
        self.batches: list[Batch] = []

    def run(self, batch: Batch) -> None:
        """Pretend to run the tasks, one after the other."""
        self.batches.append(batch)
        _order(batch)
        for folder in batch.orders:
            self.started.append((batch.trial.id, folder.name))
            self._pretend(folder)

    def end_all(self) -> int:
        """Find nothing."""
        return 0

    def _pretend(self, folder: Path) -> None:
        trial, task = folder.parent.name, folder.name
        spec = TaskSpec.model_validate_json((folder / records.SPEC_FILE).read_bytes())
        now = datetime.now(UTC)
        order = records.TaskOrder.model_validate_json((folder / records.ORDER_FILE).read_bytes())
        launch = records.LaunchRecord(
            token=order.token, pid=1, node=node_name(), begin_utc=now, spawn_utc=now, cpus=(0,)
        )
        _write(folder / records.LAUNCH_FILE, launch)
        end = self._behaviour(trial, task, spec)
        if end.returncode is None:
            write_vanished(folder)
            explain_end(folder, end.error)
            return
        if end.returncode >= 0:
            _write(folder / records.RESULT_FILE, _result(task, spec, end, now))
        cause = end.error if end.returncode < 0 else None
        ended = records.ExitRecord(
            token=order.token, returncode=end.returncode, end_utc=now, cause=cause
        )
        _write(folder / records.EXIT_FILE, ended)


def _order(batch: Batch) -> None:
    for folder, order in batch.orders.items():
        write_order(folder, order)
    batch.submitted({folder.name: f"{batch.trial.id}/{folder.name}" for folder in batch.orders})


def _result(task: str, spec: TaskSpec, end: MockEnd, now: datetime) -> TaskResult:
    error = None
    if end.returncode:
        error = end.error or TaskError(
            kind="Mock", message=f"mock failure in {task}", exit_code=end.returncode
        )
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
        counters=Counters(frames=len(range(*spec.frames)) if spec.frames else 0),
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
        error=error,
    )


def _write(path: Path, record: records.LaunchRecord | records.ExitRecord | TaskResult) -> None:
    write_atomically(path, record.model_dump_json() + "\n")
