"""Filesystems without flock: one pyscale at a time writes a run, and every command works."""

import errno
import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from commandline import answer_in
from noflock import without_flock
from pyscale.store.lock import lock_holder
from waitingforruns import living, only_run, wait_for_event

OPTIONS = ("--workers", "1", "--repeats", "1", "--only", "contact")


command = partial(answer_in, Path(), COLUMNS=2000)
"""Run a command in a process of its own, which has the variables of the test, in wide lines."""


@pytest.fixture
def forbid_flock(tmp_path_factory, monkeypatch, missing):
    """Let flock fail by this number in every process that is started from then on."""

    def forbid(number):
        folder = tmp_path_factory.mktemp("noflock")
        for name, text in without_flock(folder, number, missing).items():
            monkeypatch.setenv(name, text)

    return forbid


LOCK = """
from functools import partial
from pathlib import Path
from filelock import Timeout
from pyscale.filelocks import file_lock, is_held
path = Path("file")
with file_lock(path):
    assert is_held(path) is None
    try:
        file_lock(path).acquire(timeout=0)
    except Timeout:
        print("held by one alone")
file_lock(path).acquire(timeout=0)
"""


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ESTALE])
def test_a_file_is_held_by_one_alone_however_flock_fails(forbid_flock, home, number):
    forbid_flock(number)
    said = subprocess.run([sys.executable, "-c", LOCK], capture_output=True, text=True, check=False)
    assert (said.stdout, said.stderr) == ("held by one alone\n", "")


@pytest.fixture
def no_flock(forbid_flock):
    forbid_flock(errno.ENOSYS)


@pytest.mark.slow
@pytest.mark.usefixtures("no_flock", "fresh")
def test_a_run_is_followed_refused_killed_cancelled_and_finished(start, labels, held):
    process = start("run", "labels", "--data", labels, *OPTIONS)
    wait_for_event("submitted", process)
    run = only_run()
    name = run.path.name
    status = command("status", name)
    assert (status.code, status.err) == (0, "")
    assert "running" in status.out
    at_work = lock_holder(run.path).process()
    second = command("extend", name, "--repeats", "2")
    assert second.code == 2
    assert f"process {at_work.pid} on" in second.err
    # What a killed one held is free.
    at_work.kill()
    process.communicate()
    assert "interrupted" in command("status", name).out
    resumed = start("resume", name)
    wait_for_event("submitted", resumed, times=2)
    following = start("status", "--watch", name)
    assert command("cancel", name).code == 0
    said, _ = following.communicate()
    assert "cancelled" in said or "interrupted" in said
    assert living(run) == []
    _, said = resumed.communicate()
    assert resumed.returncode == 130
    assert "flock" not in said
    held.spare_others()
    finished = command("resume", name)
    assert finished.code == 0, finished


@pytest.mark.slow
def test_a_run_that_was_copied_there_is_held_by_nobody_or_by_whom_nobody_can_ask(
    home, labels, pyscale, forbid_flock
):
    assert pyscale("run", "labels", "--data", labels, *OPTIONS).code == 0
    run = only_run()
    name = run.path.name
    assert (run.path / "lock").read_bytes() == b""
    forbid_flock(errno.ENOSYS)
    holder = {"pid": 4711, "started_s": 1.0, "node": "n17"}
    (run.path / "lock.json").write_text(json.dumps(holder))
    marker = run.path / "lock.held"
    marker.write_text("4711\nn17\n")
    doubt = "process 4711 on n17 may still write"
    status = command("status", name)
    assert status.code == 0
    assert doubt in status.text
    assert f"delete {marker} if that process has ended" in status.text
    refused = command("resume", name)
    assert refused.code == 2, refused
    assert doubt in refused.err
    assert "Traceback" not in refused.err
    marker.unlink()
    shutil.rmtree(next((run.path / "tasks").iterdir()))
    assert command("resume", name).code == 0


@pytest.mark.slow
@pytest.mark.usefixtures("no_flock")
def test_a_dataset_is_fetched(home):
    fetched = command("data", "fetch", "drosophila-nuclei")
    assert fetched.code == 0, fetched
    assert "flock" not in fetched.err
