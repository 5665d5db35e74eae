"""The service by which workers share a GPU starts before them, and never outlives them."""

import multiprocessing
import os
import signal
import socket
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from pyscale.errors import UserError
from pyscale.executors import mps
from pyscale.executors.containernode import MPS_VARIABLE
from pyscale.executors.mps import PROGRAM, Service, end_left, service
from pyscale.processes import wait_until_ended
from standinmps import put_on_path

RUN = Path("/runs/20260317T114224Z-k3f9")
PATIENCE_S = 600.0
"""With a service that does what it should, on a busy machine."""


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """A folder for temporary files, with a short path, and a program in place of NVIDIA's."""
    monkeypatch.setenv("PATH", put_on_path(tmp_path))
    monkeypatch.setattr(mps, "LIMIT_S", PATIENCE_S)
    with TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setattr("tempfile.tempdir", folder)
        yield Path(folder)


def processes(running):
    daemon = psutil.Process(int((running.folder / "pipe" / f"{PROGRAM}.pid").read_text()))
    return [daemon, *daemon.children()]


def connect(running):
    """Compute through it, as far as it can tell."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"{running.variables[MPS_VARIABLE]}/control")


@pytest.mark.parametrize(("gpu", "sees"), [("GPU-1", "GPU-1"), ("1", "every GPU")])
def test_it_answers_as_long_as_the_block_lasts_and_tells_whether_workers_used_it(gpu, sees):
    with service(RUN, gpu) as running:
        assert running.last_words() == f"sees {sees}"
        assert not running.was_used()
        connect(running)
        assert running.was_used()
        daemon, server = processes(running)
        assert all(process.is_running() for process in (daemon, server))
    assert wait_until_ended([daemon, server], limit_s=0) == []
    assert not running.folder.exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, UserError])
def test_it_ends_whatever_ends_the_block(error):
    with pytest.raises(error), service(RUN, "GPU-1") as running:
        started = processes(running)
        raise error
    assert wait_until_ended(started, limit_s=0) == []


def test_one_that_does_not_hear_quit_is_ended(monkeypatch):
    with service(RUN, "GPU-1") as running:
        started = processes(running)
        started[0].send_signal(signal.SIGSTOP)
        monkeypatch.setattr(mps, "LIMIT_S", 0.1)
    assert wait_until_ended(started, limit_s=0) == []


def test_what_a_killed_pyscale_left_of_a_run_is_ended(places):
    """Another run's service goes on."""

    def dies():
        with service(RUN, "GPU-1"):
            os.kill(os.getpid(), signal.SIGKILL)

    with service(RUN.with_name("another"), "GPU-1") as other:
        pyscale = multiprocessing.get_context("fork").Process(target=dies)
        pyscale.start()
        pyscale.join()
        (left,) = (one for one in places.iterdir() if one != other.folder)
        started = processes(Service(left))
        assert end_left(RUN) == 1
        assert wait_until_ended(started, limit_s=0) == []
        assert not left.exists()
        assert end_left(RUN) == 0
        assert all(process.is_running() for process in processes(other))


@pytest.mark.parametrize(
    ("lacks", "said"),
    [
        ("a program", f"{PROGRAM} is not on PATH: install it"),
        ("leave", r"does not start here \(the GPU belongs to another server"),
        ("a short path", "set TMPDIR to a folder with a shorter path"),
    ],
)
def test_one_that_cannot_start_says_why(places, monkeypatch, lacks, said):
    if lacks == "a program":
        monkeypatch.setenv("PATH", str(places))
        assert not mps.is_installed()
    elif lacks == "leave":
        monkeypatch.setenv("REFUSES", "1")
    else:
        deep = places / ("x" * 80)
        deep.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(deep))
    with pytest.raises(UserError, match=said):
        service(RUN, "GPU-1").__enter__()
    assert list(places.rglob("pyscale-*")) == []
