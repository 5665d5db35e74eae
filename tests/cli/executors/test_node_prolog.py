"""The inputs are prepared once on each node, by real processes that get in each other's way."""

import json
import os
import subprocess
import sys

import pytest

from pyscale.executors.node_prolog import do_once_on_this_node
from pyscale.store.records import NODE_FILE, NodeWork
from pyscale.store.taskfiles import read_node

WORKS_WHEN_TOLD = """
import json, sys
from pyscale.executors import node_prolog
work = node_prolog._done

def when_told(what):
    print("preparing", flush=True)
    sys.stdin.readline()
    return work(what)

node_prolog._done = when_told
print("here", flush=True)
node_prolog.do_once_on_this_node(json.loads(sys.argv[1]))
print("ready", flush=True)
"""


@pytest.fixture
def movie(tmp_path):
    path = tmp_path / "frames.tif"
    path.write_bytes(os.urandom(1 << 16))
    return path


def work(trial, *inputs, cache="cold"):
    asked = NodeWork(folder=trial, cache=cache, inputs=inputs)
    return dict(asked.model_dump(mode="json"))


@pytest.fixture
def start(trial, movie):
    """Start a process on a node that does the trial's work there once it is told to."""
    started = []

    def run(node):
        process = subprocess.Popen(
            [sys.executable, "-c", WORKS_WHEN_TOLD, json.dumps(work(trial, movie))],
            env=os.environ | {"SLURMD_NODENAME": node},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert hears(process) == "here"
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def hears(process):
    return process.stdout.readline().strip()


def tell(process):
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.slow
def test_one_prepares_and_the_others_wait_for_it_or_find_it_done(start, trial):
    first = start("n1")
    assert hears(first) == "preparing"
    others = [start("n1") for _ in range(3)]
    assert read_node(trial, "n1") is None
    tell(first)
    assert [hears(process) for process in (first, *others)] == ["ready"] * 4
    assert read_node(trial, "n1") is not None
    assert hears(start("n1")) == "ready"


@pytest.mark.slow
def test_one_that_is_killed_in_the_middle_leaves_it_to_the_next(start, trial):
    first = start("n1")
    assert hears(first) == "preparing"
    second, third = start("n1"), start("n1")
    # While both wait: whichever comes second has nothing to do, and is gone soon.
    for process in (second, third):
        tell(process)
    first.kill()
    assert sorted(["preparing", "ready"]) == sorted({hears(second), hears(third)})
    assert read_node(trial, "n1") is not None


def test_the_record_says_what_was_reached_and_seen(trial, movie, monkeypatch):
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    do_once_on_this_node(work(trial, movie, cache="warm"))
    found = read_node(trial, "n1")
    assert (found.cache.asked, found.cache.state) == ("warm", "warm")
    assert found.cache.files[0].resident_bytes == 1 << 16
    assert found.surroundings.start.cores == os.cpu_count()
    assert found.surroundings.end is None
    # An input that is not there is left to the task.
    for node, cache in (("n2", "cold"), ("n3", "warm"), ("n4", "asis")):
        monkeypatch.setenv("SLURMD_NODENAME", node)
        do_once_on_this_node(work(trial, trial / "gone", cache=cache))
        assert "No such file" in (trial / NODE_FILE.format(node=node)).read_text()


def test_a_trial_that_was_set_aside_is_left_alone(trial, movie):
    aside = trial.rename(trial.with_name("segment-n2-r1.failed-1"))
    do_once_on_this_node(work(trial, movie))
    assert not trial.exists()
    assert list(aside.iterdir()) == []
