"""Tasks on this machine: real processes, pinned, watched, and ended with all they started."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from pyscale.errors import UserError
from pyscale.executors import local
from pyscale.executors.local import LocalExecutor
from pyscale.executors.protocol import Batch
from pyscale.planning.placement import Placement
from pyscale.processes import wait_until_ended
from pyscale.store.records import TaskOrder
from pyscale.store.taskfiles import read_task
from trials import ended, error_of, launched, one_trial, wait_until_it_says

pytestmark = pytest.mark.slow

WAITS_FOREVER = "import sys, signal; print('ready', flush=True); signal.pause()"


CORES = sorted(os.sched_getaffinity(0))
PATIENCE_S = 300.0
"""With processes that do what they should, on a busy machine."""


def executor_of(run):
    return LocalExecutor(run, lambda threads: Placement(CORES, threads, ["GPU-1"]))


@pytest.fixture
def executor(tmp_path):
    made = executor_of(tmp_path)
    yield made
    made.end_all()


@pytest.fixture
def tasks(tmp_path):
    return tmp_path / "tasks"


def python(program, **env):
    return TaskOrder(argv=(sys.executable, "-c", program), env=env)


def batch_of(orders, at_once=None, submitted=lambda _jobs: None, threads=1, **trial):
    workers = at_once or len(orders)
    for folder in orders:
        folder.mkdir(parents=True, exist_ok=True)
    return Batch(
        trial=one_trial("track", workers).model_copy(update=trial),
        name="windows",
        orders=orders,
        at_once=workers,
        submitted=submitted,
        threads=threads,
    )


@pytest.fixture
def run(executor, tasks):
    def one(program, **env):
        executor.run(batch_of({tasks / "task": python(program, **env)}))
        return tasks / "task"

    return one


@pytest.fixture
def start(executor):
    with ThreadPoolExecutor() as pool:
        yield lambda batch: pool.submit(executor.run, batch)
        executor.end_all()


def start_and_kill_pyscale(executor, batch):
    """Start tasks that wait forever from a process that is then killed; return what it started."""
    pyscale = multiprocessing.get_context("fork").Process(target=executor.run, args=(batch,))
    pyscale.start()
    for folder in batch.orders:
        wait_until_ready(folder)
    family = psutil.Process(pyscale.pid).children(recursive=True)
    pyscale.kill()
    pyscale.join()
    return family


def returncodes(folders):
    return [ended(folder).returncode for folder in folders]


def lives(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until_ready(folder):
    wait_until_it_says(folder)
    return launched(folder)


def test_a_task_is_pinned_has_its_variables_and_what_it_says_and_how_it_ends_is_kept(run):
    folder = run(
        "import json, os, sys; print(json.dumps([list(os.sched_getaffinity(0)), os.environ['X']]));"
        "print('err', file=sys.stderr); sys.exit(7)",
        X="given",
    )
    assert json.loads((folder / "stdout").read_text()) == [CORES[:1], "given"]
    assert (folder / "stderr").read_text() == "err\n"
    assert ended(folder).returncode == 7
    assert error_of(folder).message == "err"
    assert launched(folder).cpus == (CORES[0],)
    order = read_task(folder).order
    assert (order.cpus, order.slot, order.oversubscribed) == ((CORES[0],), 0, False)


def test_trials_of_one_run_may_have_workers_of_other_sizes(executor, tasks, missing):
    if len(CORES) < 2:
        missing("a second core", "run this test on a machine that has two")
    for threads in (1, 2):
        executor.run(batch_of({tasks / f"{threads}": python("pass")}, threads=threads))
    assert launched(tasks / "1").cpus == tuple(CORES[:1])
    assert launched(tasks / "2").cpus == tuple(CORES[:2])


def test_the_workers_of_a_batch_run_at_once(executor, tasks, tmp_path):
    """Each task opens its end of two pipes, which blocks until the other is there too."""
    for name in ("ab", "ba"):
        os.mkfifo(tmp_path / name)
    meet = "open({first!r}, {mode_1!r}); open({second!r}, {mode_2!r})"
    ab, ba = str(tmp_path / "ab"), str(tmp_path / "ba")
    a, b = tasks / "a", tasks / "b"
    first = python(meet.format(first=ab, mode_1="w", second=ba, mode_2="r"))
    second = python(meet.format(first=ab, mode_1="r", second=ba, mode_2="w"))
    executor.run(batch_of({a: first, b: second}))
    assert returncodes([a, b]) == [0, 0]


class TestMoreTasksThanWorkers:
    @pytest.fixture
    def folders(self, tasks, missing):
        if len(CORES) < 2:
            missing("a second core", "run this test on a machine that has two")
        return [tasks / f"w{task}" for task in (3, 0, 4, 1, 2)]

    def test_the_worker_that_is_free_takes_the_next_on_its_own_core(
        self, executor, folders, tmp_path
    ):
        """The first goes on until the last opens the other end of a pipe."""
        pipe = str(tmp_path / "pipe")
        os.mkfifo(pipe)
        orders = dict.fromkeys(folders, python("pass"))
        orders[folders[0]] = python(f"open({pipe!r})")
        orders[folders[-1]] = python(f"open({pipe!r}, 'w')")
        executor.run(batch_of(orders, at_once=2))
        assert returncodes(folders) == [0] * 5
        assert [launched(folder).cpus for folder in folders] == [(CORES[0],)] + [(CORES[1],)] * 4
        given = [read_task(folder).order for folder in folders]
        assert [order.slot for order in given] == [0, 1, 1, 1, 1]
        for before, order in zip(folders[1:], given[2:], strict=False):
            assert ended(before).end_utc <= order.submit_utc

    def test_they_start_in_the_order_of_the_batch_and_one_that_fails_ends_no_other(
        self, executor, folders
    ):
        told = []
        orders = dict.fromkeys(folders, python("pass"))
        orders[folders[0]] = python("raise SystemExit(1)")
        orders[folders[1]] = python("import os; os.kill(os.getpid(), 9)")
        executor.run(batch_of(orders, at_once=2, submitted=told.extend))
        assert told == ["w3", "w0", "w4", "w1", "w2"]
        submitted = read_task(folders[2]).order.submit_utc
        assert submitted >= min(ended(folder).end_utc for folder in folders[:2])
        assert returncodes(folders) == [1, -9, 0, 0, 0]


def test_a_task_does_not_outlive_its_launcher(start, tasks):
    folder = tasks / "task"
    running = start(batch_of({folder: python(WAITS_FOREVER)}))
    task = psutil.Process(wait_until_ready(folder).pid)
    task.parent().kill()
    running.result()
    wait_until_ended([task])
    assert not lives(task.pid)
    assert read_task(folder).state == "failed"


LEAVES_FILES = (
    "import os, pathlib, signal, tempfile; "
    "pathlib.Path(tempfile.mkdtemp(prefix='kernels-'), 'file').touch(); "
    "print(tempfile.gettempdir(), flush=True); "
)


def scratch_of(folder):
    """Where a task that leaves temporary files has left them."""
    own = Path((folder / "stdout").read_text().strip())
    assert own.parent == Path(tempfile.gettempdir())
    return own


def test_a_killed_task_tells_its_signal_and_its_temporary_files_go_with_it(run):
    folder = run(LEAVES_FILES + "os.kill(os.getpid(), signal.SIGKILL)")
    assert ended(folder).returncode == -signal.SIGKILL
    assert "SIGKILL" in error_of(folder).message
    assert not scratch_of(folder).exists()


def test_what_a_killed_pyscale_started_ends_with_it_and_has_not_failed(executor, tasks):
    """The launcher goes before its task, so it cannot record the task's death."""
    program = python(LEAVES_FILES + "signal.pause()")
    batch = batch_of({tasks / f"task{i}": program for i in range(4)})
    family = start_and_kill_pyscale(executor, batch)
    assert len(family) == 2 * len(batch.orders), "a launcher and a task each"
    assert wait_until_ended(family, PATIENCE_S) == []
    assert {read_task(folder).state for folder in batch.orders} == {"running"}
    assert executor.end_all() == 0
    assert not any(scratch_of(folder).exists() for folder in batch.orders)


HEARS = """
import pathlib, signal, subprocess, sys

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
if helper := sys.argv[2:]:
    subprocess.Popen(helper, stdout=subprocess.PIPE).stdout.readline()
print("ready", flush=True)
signal.sigwait([signal.SIGTERM])
pathlib.Path(sys.argv[1]).touch()
sys.exit(1)
"""


def test_a_task_is_asked_to_end_and_what_mounts_its_image_is_not(
    executor, start, tasks, tmp_path, monkeypatch
):
    monkeypatch.setattr(local, "TO_CLEAR_UP_S", PATIENCE_S)
    folder, mounting = tasks / "task", tmp_path / "squashfuse"
    mounting.symlink_to(Path(sys.executable).resolve())
    heard = {name: str(tmp_path / name) for name in ("by_task", "by_mount")}
    helper = (str(mounting), "-c", HEARS, heard["by_mount"])
    argv = (sys.executable, "-c", HEARS, heard["by_task"], *helper)
    running = start(batch_of({folder: TaskOrder(argv=argv)}))
    task = psutil.Process(wait_until_ready(folder).pid)
    family = [task, *task.children(recursive=True)]
    assert mounting.name in {process.name() for process in family}
    executor.end_all()
    running.result()
    assert (tmp_path / "by_task").exists()
    assert not (tmp_path / "by_mount").exists()
    assert not any(lives(process.pid) for process in family)


def test_processes_of_this_run_are_ended_and_those_of_another_are_not(
    executor, start, tasks, tmp_path
):
    other = executor_of(tmp_path / "other")
    mine, theirs = tasks / "mine", tmp_path / "other" / "tasks" / "theirs"
    with ThreadPoolExecutor() as pool:
        running = [
            start(batch_of({mine: python(LEAVES_FILES + "signal.pause()")})),
            pool.submit(other.run, batch_of({theirs: python(WAITS_FOREVER)})),
        ]
        my_task, their_task = (wait_until_ready(folder).pid for folder in (mine, theirs))
        assert scratch_of(mine).is_dir()
        assert executor.end_all() > 0
        assert not lives(my_task)
        assert lives(their_task)
        assert other.end_all() > 0
        assert not lives(their_task)
        for each in running:
            each.result()
    executor.end_all()
    assert not scratch_of(mine).exists()


def test_what_a_task_leaves_behind_ends_with_it(run):
    """The child is in a session of its own, as a daemon would be, when its parent ends."""
    sleep = "subprocess.Popen(['sleep', '1000'], start_new_session=True)"
    folder = run(f"import subprocess; print({sleep}.pid)")
    assert ended(folder).returncode == 0
    assert not lives(int((folder / "stdout").read_text()))


def test_a_process_that_a_kill_does_not_end_is_named_and_not_waited_for_without_limit(monkeypatch):
    """As one does that waits for a filesystem which does not answer."""
    limits = []

    def still_there(processes, limit_s):
        limits.append(limit_s)
        return list(processes)

    monkeypatch.setattr(local, "wait_until_ended", still_there)
    with (
        subprocess.Popen([sys.executable, "-c", WAITS_FOREVER], stdout=subprocess.PIPE) as child,
        pytest.raises(UserError, match=rf"process {child.pid}\).*run `pyscale cancel` again"),
    ):
        local._end_trees([], [psutil.Process(child.pid)])
    assert limits == [local.TO_CLEAR_UP_S, local.TO_DIE_S]
