"""Tasks on this machine: real processes, pinned, watched, and ended with all they started."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
from watchfiles import watch

from pyscale.executors.local import LocalExecutor
from pyscale.executors.waiting import wait_for
from pyscale.store.records import (
    EXIT_FILE,
    LAUNCH_FILE,
    ORDER_FILE,
    ExitRecord,
    LaunchRecord,
    TaskOrder,
    has_ended,
    read_task,
)

WAITS_FOREVER = "import sys, signal; print('ready', flush=True); signal.pause()"


@pytest.fixture
def executor(tmp_path: Path) -> Iterator[LocalExecutor]:
    made = LocalExecutor(tmp_path / "submitit")
    yield made
    made.end_leftovers()


@pytest.fixture
def order(tmp_path: Path) -> Callable[..., Path]:
    """Order a Python program as a task; return its folder."""

    def write(name: str, program: str, **options: object) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        task = TaskOrder(
            token=name,
            submit_utc=datetime.now(UTC),
            argv=(sys.executable, "-c", program),
            **options,
        )
        (folder / ORDER_FILE).write_text(task.model_dump_json())
        return folder

    return write


def run(executor: LocalExecutor, *folders: Path) -> None:
    wait_for(dict(zip(folders, executor.submit(folders), strict=True)))


def ended(folder: Path) -> ExitRecord:
    return ExitRecord.model_validate_json((folder / EXIT_FILE).read_bytes())


def launched(folder: Path) -> LaunchRecord:
    return LaunchRecord.model_validate_json((folder / LAUNCH_FILE).read_bytes())


def wait_until_ready(folder: Path) -> LaunchRecord:
    """Return when the program of a task has said that it runs."""
    for _ in watch(folder, rust_timeout=100, yield_on_timeout=True, step=5, watch_filter=None):
        said = folder / "stdout"
        if (folder / LAUNCH_FILE).exists() and said.exists() and said.read_text():
            return launched(folder)
    raise AssertionError("the watch ended")


def test_what_a_task_says_and_how_it_ends_is_kept(
    executor: LocalExecutor, order: Callable[..., Path]
) -> None:
    program = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"
    folder = order("task", program)
    run(executor, folder)
    assert (folder / "stdout").read_text() == "out\n"
    assert (folder / "stderr").read_text() == "err\n"
    assert ended(folder).returncode == 7
    record = read_task(folder)
    assert record.state == "failed"
    assert record.error is not None
    assert record.error.message == "err"


def test_a_task_is_pinned_and_has_its_variables(
    executor: LocalExecutor, order: Callable[..., Path]
) -> None:
    core = min(os.sched_getaffinity(0))
    program = "import json, os; print(json.dumps([list(os.sched_getaffinity(0)), os.environ['X']]))"
    folder = order("task", program, cpus=(core,), env={"X": "given"})
    run(executor, folder)
    assert json.loads((folder / "stdout").read_text()) == [[core], "given"]
    assert launched(folder).cpus == (core,)


def test_tasks_of_one_submission_run_at_once(
    executor: LocalExecutor, order: Callable[..., Path], tmp_path: Path
) -> None:
    """Each task opens its end of two pipes, which blocks until the other is there too."""
    for name in ("ab", "ba"):
        os.mkfifo(tmp_path / name)
    meet = "open({first!r}, {mode_1!r}); open({second!r}, {mode_2!r})"
    ab, ba = str(tmp_path / "ab"), str(tmp_path / "ba")
    first = order("a", meet.format(first=ab, mode_1="w", second=ba, mode_2="r"))
    second = order("b", meet.format(first=ab, mode_1="r", second=ba, mode_2="w"))
    run(executor, first, second)
    assert (ended(first).returncode, ended(second).returncode) == (0, 0)


def test_a_killed_task_tells_its_signal(
    executor: LocalExecutor, order: Callable[..., Path]
) -> None:
    folder = order("task", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    run(executor, folder)
    assert ended(folder).returncode == -signal.SIGKILL
    record = read_task(folder)
    assert record.error is not None
    assert "SIGKILL" in record.error.message


@pytest.mark.parametrize("module", ["submitit.local._local", "submitit.core._submit"])
def test_nothing_outlives_a_link_of_the_chain_that_is_killed(
    executor: LocalExecutor, order: Callable[..., Path], module: str
) -> None:
    folder = order("task", WAITS_FOREVER)
    (job,) = executor.submit([folder])
    task = psutil.Process(wait_until_ready(folder).pid)
    chain = [task, *task.parents()]
    victim = next(p for p in chain if any(module in part for part in p.cmdline()))
    victim.kill()
    wait_for({folder: job})
    psutil.wait_procs([task], timeout=30)
    assert not task.is_running()
    assert read_task(folder).state == "failed"


def test_what_pyscale_ends_is_no_failure(
    executor: LocalExecutor, order: Callable[..., Path]
) -> None:
    """The launcher goes before its task, so it cannot record the task's death."""
    folders = [order(f"task{i}", WAITS_FOREVER) for i in range(4)]
    executor.submit(folders)
    for folder in folders:
        wait_until_ready(folder)
    assert executor.end_leftovers() > 0
    assert {read_task(folder).state for folder in folders} == {"running"}


def test_a_launcher_of_an_earlier_attempt_cannot_end_a_new_one(
    executor: LocalExecutor, order: Callable[..., Path]
) -> None:
    folder = order("task", "pass")
    run(executor, folder)
    assert read_task(folder).error is not None or has_ended(folder)
    newer = TaskOrder(token="newer", submit_utc=datetime.now(UTC), argv=("true",))
    (folder / ORDER_FILE).write_text(newer.model_dump_json())
    assert not has_ended(folder)
    assert read_task(folder).state == "running"


def test_leftovers_of_this_run_are_ended_and_those_of_another_are_not(
    executor: LocalExecutor, order: Callable[..., Path], tmp_path: Path
) -> None:
    other = LocalExecutor(tmp_path / "other")
    mine, theirs = order("mine", WAITS_FOREVER), order("theirs", WAITS_FOREVER)
    executor.submit([mine])
    other.submit([theirs])
    my_task = psutil.Process(wait_until_ready(mine).pid)
    their_task = psutil.Process(wait_until_ready(theirs).pid)
    assert executor.end_leftovers() > 0
    assert not my_task.is_running()
    assert their_task.is_running()
    assert other.end_leftovers() > 0
    assert not their_task.is_running()


def test_a_program_that_is_not_there_is_said(
    executor: LocalExecutor, order: Callable[..., Path], tmp_path: Path
) -> None:
    folder = order("task", "pass")
    absent = TaskOrder(token="task", submit_utc=datetime.now(UTC), argv=(str(tmp_path / "none"),))
    (folder / ORDER_FILE).write_text(absent.model_dump_json())
    run(executor, folder)
    record = read_task(folder)
    assert record.state == "failed"
    assert record.error is not None
    assert f"{tmp_path}/none cannot be started on {os.uname().nodename}" in record.error.message
    assert "No such file" in record.error.message


def test_what_a_task_leaves_behind_ends_with_it(
    executor: LocalExecutor, order: Callable[..., Path]
) -> None:
    """The child is in a session of its own, as a daemon would be, when its parent ends."""
    program = (
        "import subprocess, sys; "
        "print(subprocess.Popen(['sleep', '1000'], start_new_session=True).pid)"
    )
    folder = order("task", program)
    run(executor, folder)
    assert ended(folder).returncode == 0
    assert not psutil.pid_exists(int((folder / "stdout").read_text()))
