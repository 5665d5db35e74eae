"""The scratch folder is gone however the task ends: real processes are told to, once and twice."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from pyscale_stages.kernels.particles import OnDisk
from pyscale_stages.machine.place import scratch_folder

TWICE = """
import pathlib, select, shutil, sys
from pyscale_stages.machine import place

def say(what):
    print(what, flush=True)
    # A signal that comes just before a wait is heard when the wait ends.
    while not select.select([sys.stdin], [], [], 0.1)[0]:
        pass
    sys.stdin.readline()

remove = shutil.rmtree
def slowly(folder, **more):
    say("removing")
    remove(folder, **more)

shutil.rmtree = slowly
with place.scratch_folder(pathlib.Path(sys.argv[1]), "storage", print) as folder:
    (folder / "stack").mkdir()
    (folder / "stack" / "file").touch()
    say("working")
print("done", flush=True)
"""


def python(*line):
    return subprocess.Popen(
        [sys.executable, "-c", *map(str, line)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


@contextmanager
def program(place):
    """A process that works in a scratch folder until it reads a line, and tells how far it is."""
    with python(TWICE, place) as process:
        hear(process, "working")
        assert [path.name for path in place.rglob("file")] == ["file"]
        yield process


def hear(process, what):
    assert process.stdout.readline().strip() == what


def go_on(process):
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (signal.SIGTERM, signal.SIGINT),
        (signal.SIGINT, signal.SIGTERM),
        (signal.SIGHUP, signal.SIGTERM),
    ],
)
def test_a_second_signal_does_not_stop_the_removal_that_the_first_began(place, first, second):
    with program(place) as process:
        process.send_signal(first)
        hear(process, "removing")
        process.send_signal(second)
        go_on(process)
        # Python ends itself by the signal after Ctrl-C, as a shell expects.
        assert process.wait() in {128 + first, -first}
    assert list(place.iterdir()) == []


def test_a_signal_while_finished_work_is_removed_does_not_stop_that(place):
    with program(place) as process:
        go_on(process)
        hear(process, "removing")
        process.send_signal(signal.SIGINT)
        go_on(process)
        assert process.wait() == 0
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_a_test_leaves_nothing(bench_of, place, monkeypatch, end):
    seen = []

    def ended(*_args):
        seen.extend(path.name for path in place.rglob("*"))
        signal.raise_signal(end)

    monkeypatch.setattr(OnDisk, "batch", ended)
    with pytest.raises(KeyboardInterrupt if end == signal.SIGINT else SystemExit):
        bench_of("kernels").run("run", place)
    assert "particles.raw" in seen
    assert list(place.iterdir()) == []


def test_answers_to_signals_come_back_and_what_is_not_to_be_heard_stays_unheard(place):
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with scratch_folder(place, "storage", print):
        assert signal.getsignal(signal.SIGTERM) is not before[1]
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with scratch_folder(place, "storage", print):
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_cannot_be_removed_is_named(place, monkeypatch):
    monkeypatch.setattr("shutil.rmtree", lambda *_args, **_more: None)
    said = []
    with scratch_folder(place, "storage", said.append) as folder:
        pass
    assert said == [f"{folder} could not be removed: remove it by hand"]
