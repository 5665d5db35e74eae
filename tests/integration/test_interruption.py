"""Ctrl-C, kill -9, cancel: then `--resume` gives what an undisturbed run gives."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from watchfiles import watch

from heldtasks import HeldTasks
from pyscale.executors.choice import executor_for
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from trials import outputs

OPTIONS = ("--workers", "1,2", "--repeats", "1", "--only", "contact", "--keep-outputs", "all")


def only_run() -> RunFolder:
    (path,) = Path("runs").iterdir()
    return RunFolder(path)


def wait_for_event(kind: str, process: subprocess.Popen[str]) -> None:
    """Return when the journal of the only run tells of an event."""
    Path("runs").mkdir(exist_ok=True)
    for _ in watch("runs", rust_timeout=100, yield_on_timeout=True, step=5, watch_filter=None):
        assert process.poll() is None, process.communicate()
        journals = list(Path("runs").glob("*/journal.jsonl"))
        if journals and any(e.kind == kind for e in Journal(journals[0]).read()):
            return


def living(run: RunFolder) -> list[psutil.Process]:
    """Processes that still work for a run."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(str(run.path) in part for part in process.info["cmdline"] or [])
    ]


@pytest.fixture
def held(home: Path, monkeypatch: pytest.MonkeyPatch) -> HeldTasks:
    """The first tasks of a run stand still, so that it does not end before it is disturbed."""
    folder = home / "python_path"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    return HeldTasks(folder)


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, moving_squares: Callable[[Path], Path]
) -> dict[str, tuple[str, ...]]:
    """Outputs of a run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    data = moving_squares(folder)
    subprocess.run(
        [sys.executable, "-m", "pyscale", "run", "labels", "--data", data, *OPTIONS],
        cwd=folder,
        env=os.environ | {"PYSCALE_STAGES": '{"contact": {"kernel_cache": "user"}}'},
        check=True,
    )
    (path,) = (folder / "runs").iterdir()
    return outputs(RunFolder(path))


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_running_and_resume_completes_the_run(
    pyscale: Callable[..., object],
    start: Callable[..., subprocess.Popen[str]],
    labels: Path,
    held: HeldTasks,
    undisturbed: dict[str, tuple[str, ...]],
) -> None:
    process = start("run", "labels", "--data", labels, *OPTIONS)
    wait_for_event("submitted", process)
    # The terminal sends Ctrl-C to every process of the foreground.
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate()
    run = only_run()
    assert process.returncode == 130
    assert f"pyscale run --resume {run.path.name}" in said
    assert "Traceback" not in said
    assert living(run) == []
    assert pyscale("status", run.path.name).out.count("interrupted")
    held.spare_others()
    assert pyscale("run", "--resume", run.path.name).code == 0
    assert outputs(run) == undisturbed


@pytest.mark.slow
def test_killed_again_and_again_a_run_completes_with_the_same_results(
    pyscale: Callable[..., object],
    start: Callable[..., subprocess.Popen[str]],
    labels: Path,
    held: HeldTasks,
    undisturbed: dict[str, tuple[str, ...]],
) -> None:
    moments = random.Random(7)
    process = start("run", "labels", "--data", labels, *OPTIONS)
    wait_for_event("submitted", process)
    held.let_go()
    for _ in range(4):
        try:
            process.wait(timeout=moments.uniform(0.0, 3.0))
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        process = start("run", "--resume", only_run().path.name)
    _, said = process.communicate()
    assert process.returncode == 0, said
    run = only_run()
    assert outputs(run) == undisturbed
    assert living(run) == []
    assert executor_for(run).end_all() == 0


@pytest.mark.slow
def test_cancel_ends_a_detached_run_and_resume_finishes_it(
    pyscale: Callable[..., object],
    start: Callable[..., subprocess.Popen[str]],
    labels: Path,
    held: HeldTasks,
    undisturbed: dict[str, tuple[str, ...]],
) -> None:
    process = start("run", "labels", "--data", labels, "--detach", *OPTIONS)
    name, _ = process.communicate()
    run = RunFolder(Path("runs") / name.strip())
    # The command returns once the run is its process's own: it can be cancelled at once.
    assert pyscale("cancel", run.path.name).code == 0
    assert living(run) == []
    assert "cancelled" in pyscale("status", run.path.name).out
    assert "nothing to cancel" in pyscale("cancel", run.path.name).err
    held.spare_others()
    assert pyscale("run", "--resume", run.path.name).code == 0
    assert outputs(run) == undisturbed


@pytest.mark.slow
@pytest.mark.usefixtures("held")
def test_cancel_waits_for_the_run_and_not_for_who_started_it(
    start: Callable[..., subprocess.Popen[str]], labels: Path
) -> None:
    """Until its parent asks for it, and that is us, an ended process is there as a zombie."""
    process = start("run", "labels", "--data", labels, *OPTIONS)
    wait_for_event("submitted", process)
    cancelling = start("cancel", only_run().path.name)
    _, said = cancelling.communicate()
    assert cancelling.returncode == 0, said
    assert living(only_run()) == []
    process.communicate()
    assert process.returncode == 130


@pytest.mark.slow
def test_a_second_pyscale_on_one_run_is_refused(
    pyscale: Callable[..., object],
    start: Callable[..., subprocess.Popen[str]],
    labels: Path,
    held: HeldTasks,
) -> None:
    process = start("run", "labels", "--data", labels, *OPTIONS)
    wait_for_event("submitted", process)
    # It holds the run until the second has asked for it, however long that takes.
    process.send_signal(signal.SIGSTOP)
    second = pyscale("run", "--resume", only_run().path.name)
    process.send_signal(signal.SIGCONT)
    held.let_go()
    assert second.code == 2
    assert f"process {process.pid} on" in second.err
    _, said = process.communicate()
    assert process.returncode == 0, said
