"""Ctrl-C, kill -9, cancel: then `resume` gives what an undisturbed run gives."""

import fcntl
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from commandline import answer_here
from forkedtasks import forked_tasks
from movingsquares import write_moving_squares
from pyscale.measuring.holding import executor_here
from pyscale.processes import wait_until_ended
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.lock import lock_holder
from trials import outputs
from waitingforruns import living, only_run, wait_for_event

PATIENCE_S = 300.0
"""With processes that do what they should, on a busy machine."""
OPTIONS = ("--repeats", "1", "--only", "contact", "--set", "keep_outputs=all")
SEVERAL = ("--workers", "1,2", *OPTIONS)
of_several_trials = pytest.mark.parametrize("process", ["1,2"], indirect=True)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    data = write_moving_squares(folder / "labels.ome.tif")
    with forked_tasks():
        assert answer_here(folder, "run", "labels", "--data", data, *SEVERAL).code == 0
    (path,) = (folder / "runs").iterdir()
    return outputs(RunFolder(path))


@pytest.fixture
def process(request, start, labels, held):
    """A pyscale that has begun a run, of one task if no more is said, which stands still."""
    workers = getattr(request, "param", "1")
    begun = start("run", "labels", "--data", labels, "--workers", workers, *OPTIONS)
    wait_for_event("submitted", begun)
    return begun


def worker(run):
    """The process that works a run off."""
    return psutil.Process(lock_holder(run.path).pid)


def interrupted(process):
    """The only run, which a process has left as it should."""
    _, said = process.communicate()
    run = only_run()
    assert process.returncode == 130
    assert f"pyscale resume {run.path.name}" in said
    assert "Traceback" not in said
    assert living(run) == []
    return run


@pytest.mark.smoke
@of_several_trials
def test_after_ctrl_c_and_a_kill_a_run_is_resumed_to_what_an_undisturbed_one_gives(
    pyscale, start, process, held, undisturbed
):
    # The terminal sends Ctrl-C to every process of the foreground.
    os.killpg(process.pid, signal.SIGINT)
    run = interrupted(process)
    assert pyscale("status", run.path.name).out.count("interrupted")
    resumed = start("resume", run.path.name)
    wait_for_event("submitted", resumed, times=2)
    worker(run).kill()
    _, said = resumed.communicate()
    assert resumed.returncode == 2
    assert f"ended without a word: go on with `pyscale resume {run.path.name}`" in said
    held.spare_others()
    assert pyscale("resume", run.path.name).code == 0
    assert outputs(run) == undisturbed
    assert living(run) == []
    assert executor_here(run).end_all() == 0


@pytest.mark.slow
@of_several_trials
def test_killed_again_and_again_a_run_completes_with_the_same_results(
    start, process, held, undisturbed
):
    moments = random.Random(7)
    held.let_go()
    for _ in range(2):
        try:
            process.wait(timeout=moments.uniform(0.0, 3.0))
        except subprocess.TimeoutExpired:
            # Sometimes who follows it, and sometimes what works it off.
            victims = [process, worker(only_run())]
            with suppress(psutil.NoSuchProcess):
                moments.choice(victims).kill()
        process.kill()
        process.communicate()
        process = start("resume", only_run().path.name)
    _, said = process.communicate()
    assert process.returncode == 0, said
    run = only_run()
    assert outputs(run) == undisturbed
    assert wait_until_ended(living(run), PATIENCE_S) == []


@pytest.mark.slow
def test_cancel_ends_a_detached_run_and_resume_finishes_it(
    pyscale, start, labels, held, undisturbed
):
    process = start("run", "labels", "--data", labels, "--detach", *SEVERAL)
    name, _ = process.communicate()
    run = RunFolder(Path("runs") / name.strip())
    # The command returns once the run is its process's own: it can be cancelled at once.
    assert pyscale("cancel", run.path.name).code == 0
    assert living(run) == []
    assert "cancelled" in pyscale("status", run.path.name).out
    assert "nothing to cancel" in pyscale("cancel", run.path.name).err
    held.spare_others()
    assert pyscale("resume", run.path.name).code == 0
    assert outputs(run) == undisturbed


@pytest.mark.slow
def test_cancel_waits_for_the_run_and_not_for_who_started_it(start, process):
    """Until its parent asks for it, and that is us, an ended process is there as a zombie."""
    cancelling = start("cancel", only_run().path.name)
    _, said = cancelling.communicate()
    assert cancelling.returncode == 0, said
    assert living(only_run()) == []
    process.communicate()
    assert process.returncode == 130


@pytest.mark.slow
def test_a_second_pyscale_follows_the_run_and_leaves_it_at_work(start, process, held):
    run = only_run()
    at_work = worker(run)
    second, third = (start("resume", run.path.name) for _ in range(2))
    second.kill()
    second.communicate()
    refused = start("extend", run.path.name, "--repeats", "2")
    assert f"process {at_work.pid} on" in refused.communicate()[1]
    assert at_work.is_running()
    held.let_go()
    for each in (process, third):
        _, said = each.communicate()
        assert each.returncode == 0, said
    assert [event.kind for event in Journal(run.journal_file).read()].count("run_started") == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTERM])
def test_what_else_ends_a_process_ends_a_run_as_ctrl_c_does(process, number):
    # A terminal sends the first to every process of the foreground.
    os.killpg(process.pid, number)
    interrupted(process)


def on_a_terminal(*words):
    """Start a command on a terminal of its own; return it with the other end."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pyscale", *map(str, words)],
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
        # The test has no other threads.
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
    )
    os.close(its)
    return process, ours


@pytest.mark.slow
@pytest.mark.usefixtures("held")
def test_a_run_outlives_its_terminal_and_can_be_ended(labels, pyscale):
    process, terminal = on_a_terminal("run", "labels", "--data", labels, "--workers", "1", *OPTIONS)
    wait_for_event("submitted", process)
    os.close(terminal)
    assert process.wait() == 130
    run = only_run()
    assert worker(run).is_running()
    assert pyscale("cancel", run.path.name).code == 0
    assert living(run) == []


@pytest.mark.slow
def test_a_detached_run_outlives_the_terminal_and_a_shell_that_tells_it_to_hang_up(labels, held):
    words = ("run", "labels", "--data", labels, "--detach", "--workers", "1")
    process, terminal = on_a_terminal(*words, *OPTIONS)
    assert process.wait() == 0
    os.close(terminal)
    run = only_run()
    detached = worker(run)
    detached.send_signal(signal.SIGHUP)
    held.let_go()
    wait_until_ended([detached])
    assert {event.kind for event in Journal(run.journal_file).read()} >= {"run_finished"}


@pytest.mark.slow
def test_nothing_computes_on_after_a_pyscale_that_was_killed_but_what_status_names(
    pyscale, process
):
    at_work = worker(only_run())
    family = at_work.children(recursive=True)
    assert family
    at_work.kill()
    process.communicate()
    # Its workers end with it, but not at once: `status` would name them too.
    assert wait_until_ended(family, PATIENCE_S) == []
    run = only_run()
    assert "still run" not in pyscale("status", run.path.name).out
    record = run.path / "tasks" / "contact-n1-b1" / "w0" / "result.json"
    words = ["pyscale_stages", "contact", "run", "--result", str(record)]
    # A task of which the kernel forgot that it ends with its launcher.
    left = psutil.Popen([sys.executable, "-c", "import signal; signal.pause()", *words])
    status = pyscale("status", run.path.name).text
    assert f"process {left.pid} of this run still runs" in status
    assert f"end with: pyscale cancel {run.path.name}" in status
    assert pyscale("cancel", run.path.name).code == 0
    assert not left.is_running()
    assert "still runs" not in pyscale("status", run.path.name).text


@pytest.mark.slow
@pytest.mark.parametrize("new_name", [None, "moved"])
def test_a_run_whose_folder_goes_away_ends_and_can_be_finished_where_it_lies(
    home, process, pyscale, held, new_name
):
    run = only_run()
    if new_name is None:
        shutil.rmtree(run.path)
    else:
        run.path.rename(home / new_name)
    held.let_go()
    _, said = process.communicate()
    assert process.returncode == 2
    assert "error: " in said
    assert "Traceback" not in said
    assert not run.path.exists()
    assert living(run) == []
    if new_name is not None:
        resumed = pyscale("resume", new_name)
        assert resumed.code == 0, resumed


WAITS_AT_AN_IMPORT = """\
import sys

class Finder:
    def find_spec(name, path, target=None):
        if name == "{module}":
            sys.meta_path.remove(Finder)
            open({pipe!r}).read()

if "pyscale" in sys.orig_argv:
    sys.meta_path.insert(0, Finder)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("module", "number"), [("typer", signal.SIGINT), ("pyscale.planning.planner", signal.SIGHUP)]
)
def test_a_command_that_has_hardly_begun_ends_in_a_word(
    start, home, labels, monkeypatch, module, number
):
    """The one is imported in the first moments, the other when the run is to be planned."""
    pipe = home / "held"
    os.mkfifo(pipe)
    (home / "sitecustomize.py").write_text(WAITS_AT_AN_IMPORT.format(module=module, pipe=str(pipe)))
    monkeypatch.setenv("PYTHONPATH", str(home), prepend=os.pathsep)
    process = start("run", "labels", "--data", labels, *OPTIONS)
    # Opened as soon as the other end is, and closed before the wait: a signal that comes just
    # before the read begins is heard when the read ends.
    with pipe.open("w"):
        process.send_signal(number)
    _, said = process.communicate()
    assert (process.returncode, said) == (130, "interrupted\n")
