"""Whatever dies first, nothing of a container survives: no process, no mount, no scratch."""

from __future__ import annotations

import os
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from watchfiles import watch

from commandline import commands
from pyscale.executors.containernode import left_scratch, scratch_prefix
from pyscale.executors.local import CONTAINER_HELPERS, CONTAINER_PROGRAMS, LocalExecutor
from pyscale.executors.protocol import Batch
from pyscale.planning.placement import local_placement
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.records import ContainerOrder, TaskOrder
from pyscale.store.taskfiles import read_task
from pyscale_stages.binds import OPTIONS, task_binds
from trials import one_trial, wait_until_it_says

PATIENCE_S = 300
WAITS_FOREVER = "echo ready; exec sleep 1000"


@dataclass(frozen=True)
class Started:
    """A task on this machine, and the executor that waits for it."""

    folder: Path
    order: TaskOrder
    launcher: int
    end: Future[None]


class Waiting:
    """A container that waits forever, and the processes that it is made of."""

    def __init__(self, started):
        self.folder = started.folder
        self.end = started.end
        launcher = psutil.Process(started.launcher)
        self.family = [launcher, *launcher.children(recursive=True)]

    def one(self, wanted):
        """The process that is meant: the launcher, the container program, or its helper."""
        if wanted == "helper":
            return next(p for p in self.family if p.name() in CONTAINER_HELPERS)
        if wanted == "program":
            return next(p for p in self.family if p.name() in CONTAINER_PROGRAMS)
        if wanted == "init":
            children = self.one("program").children()
            return next(p for p in children if p.name() not in CONTAINER_HELPERS)
        return self.family[0]

    def ends(self):
        """Wait for the end of every process; fail where one goes on."""
        _, alive = psutil.wait_procs(self.family, timeout=PATIENCE_S)
        left = [p for p in alive if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
        assert [p.cmdline() for p in left] == []


@pytest.fixture
def run_folder(tmp_path):
    """The folder of a run with a name that no other run has."""
    folder = tmp_path / f"death-{os.getpid()}-{tmp_path.name}"
    folder.mkdir()
    return folder


@pytest.fixture
def executor(run_folder):
    made = executor_of(run_folder)
    yield made
    made.end_all()


def executor_of(run_folder):
    return LocalExecutor(run_folder, local_placement)


@pytest.fixture
def start_order(executor):
    """Start a task while the test goes on."""
    with ThreadPoolExecutor() as pool:

        def begin(folder, order):
            launcher = Future()
            batch = Batch(
                trial=one_trial("contact"),
                name="windows",
                orders={folder: order},
                at_once=1,
                submitted=lambda jobs: launcher.set_result(int(jobs[folder.name])),
            )
            end = pool.submit(executor.run, batch)
            return Started(folder, order, launcher.result(), end)

        yield begin
        executor.end_all()


@pytest.fixture
def start(start_order, engine, toy_image, run_folder):
    """Start a shell command in a container as a task of the run."""

    def begin(program):
        folder = run_folder / "tasks" / "task"
        folder.mkdir(parents=True)
        options = [*OPTIONS, "--pwd", str(folder)]
        for bind in task_binds(folder, []):
            options += bind.option()
        order = TaskOrder(
            argv=tuple(engine.command("exec", *options, str(toy_image), "sh", "-c", program)),
            container=ContainerOrder(
                passed=(),
                gpu=False,
                scratch_prefix=scratch_prefix(run_folder),
            ),
        )
        return start_order(folder, order)

    return begin


@pytest.fixture
def waiting(start):
    started = start(WAITS_FOREVER)
    wait_until_it_says(started.folder)
    return Waiting(started)


def test_a_container_has_scratch_of_its_own_and_those_of_other_runs_go_on(
    waiting, run_folder, executor, tmp_path
):
    assert len(left_scratch(run_folder)) == 1
    assert executor_of(tmp_path / "other").end_all() == 0
    assert waiting.one("program").is_running()
    executor.end_all()
    waiting.ends()
    assert left_scratch(run_folder) == {}


@pytest.mark.parametrize("victim", ["program", "init"])
def test_a_container_that_is_killed_leaves_nothing(waiting, run_folder, victim):
    """The program's death orphans the helper that mounts the image: the launcher ends it."""
    assert waiting.one("helper").is_running()
    waiting.one(victim).kill()
    waiting.end.result()
    waiting.ends()
    assert left_scratch(run_folder) == {}
    assert read_task(waiting.folder).state == "failed"


def test_a_container_ends_with_its_launcher(waiting, executor, run_folder):
    waiting.one("launcher").kill()
    waiting.end.result()
    record = read_task(waiting.folder)
    assert record.error is not None
    assert record.error.kind == "Lost"
    waiting.ends()
    executor.end_all()
    assert left_scratch(run_folder) == {}


def test_a_container_that_lost_launcher_and_guard_is_found_and_ended(waiting, executor, run_folder):
    program, helper = waiting.one("program"), waiting.one("helper")
    wrappers = [p for p in waiting.family if "pyscale.executors.launch" in p.cmdline()]
    assert len(wrappers) == 2, "the launcher and its guard"
    for process in wrappers:
        process.kill()
    waiting.end.result()
    assert program.is_running()
    assert helper.is_running()
    assert executor.end_all() > 0
    waiting.ends()
    assert left_scratch(run_folder) == {}


def test_a_polite_end_is_heard_by_the_container(waiting, run_folder):
    waiting.one("launcher").terminate()
    waiting.end.result()
    waiting.ends()
    assert left_scratch(run_folder) == {}
    record = read_task(waiting.folder)
    assert record.error is not None
    assert record.error.kind == "Killed"


def test_a_process_that_is_killed_inside_tells_its_signal(start):
    started = start("kill -9 $$")
    started.end.result()
    record = read_task(started.folder)
    assert record.error is not None
    assert "SIGKILL" in record.error.message
    assert record.error.exit_code == 3


def test_an_image_that_vanishes_during_a_run_is_said(start, start_order, tmp_path):
    started = start("true")
    started.end.result()
    order = started.order
    gone = [str(tmp_path / "x.sif") if part.endswith(".sif") else part for part in order.argv]
    folder = started.folder.with_name("again")
    folder.mkdir()
    start_order(folder, order.model_copy(update={"argv": tuple(gone)})).end.result()
    record = read_task(folder)
    assert record.error is not None
    assert record.error.message.startswith(f"the image {tmp_path}/x.sif does not exist")
    assert record.error.exit_code == 2


# Whole runs: pyscale itself is the one that dies.

RUN = ("run", "labels", "--only", "contact", "--workers", "1,2", "--repeats", "1")


@pytest.fixture
def pyscale(tmp_path, with_image, monkeypatch):
    """Start a command of pyscale as a process of its own."""
    monkeypatch.setenv("PYSCALE_IMAGES_FOLDER", str(with_image("contact").path))
    monkeypatch.setenv("PYSCALE_RUNTIME", "apptainer")
    with commands(cwd=tmp_path) as begin:
        yield begin


def of_the_run(run):
    """Processes that work for a run, and helpers that have lost their container."""
    sessions = set(left_scratch(run.path).values())
    found = []
    for process in psutil.process_iter(["cmdline", "name", "status"]):
        named = any(str(run.path) in part for part in process.info["cmdline"] or [])
        # What is left of one that has ended goes when its parent asks for it.
        alive = process.info["status"] != psutil.STATUS_ZOMBIE
        helper = alive and process.info["name"] in CONTAINER_HELPERS
        # One that was listed may end before it is looked at.
        with suppress(ProcessLookupError):
            if named or (helper and os.getsid(process.pid) in sessions):
                found.append(process)
    return found


def begun(tmp_path, process):
    """Return when the first container of the only run is there."""
    (tmp_path / "runs").mkdir(exist_ok=True)
    for _ in watch(
        tmp_path / "runs", rust_timeout=50, yield_on_timeout=True, step=5, watch_filter=None
    ):
        assert process.poll() is None, process.communicate()
        plans = list((tmp_path / "runs").glob("*/plan.json"))
        if plans and (run := RunFolder(plans[0].parent)).journal_file.exists():
            started = any(event.kind == "submitted" for event in Journal(run.journal_file).read())
            if started and any(p.info["name"] in CONTAINER_HELPERS for p in of_the_run(run)):
                return run
    raise AssertionError("the watch ended")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["ctrl-c", "killed"])
def test_a_run_that_ends_early_leaves_no_container_and_can_be_finished(
    pyscale, tmp_path, labels, how
):
    process = pyscale(*RUN, "--data", labels)
    run = begun(tmp_path, process)
    if how == "ctrl-c":
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate()
        assert process.returncode == 130, said
    else:
        # Its launcher goes with it: nobody is left who could tidy up before the resume.
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    if how != "killed":
        assert of_the_run(run) == []
        assert left_scratch(run.path) == {}
    resumed = pyscale("resume", run.path.name)
    _, said = resumed.communicate()
    assert resumed.returncode == 0, said
    assert of_the_run(run) == []
    assert left_scratch(run.path) == {}
    for trial in run.plan.trials:
        assert {read_task(run.task(trial, task)).state for task in trial.tasks} == {"done"}
