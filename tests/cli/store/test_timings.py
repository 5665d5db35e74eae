"""What tests of the machine took is a table, and what they said of the machine is kept by node."""

import json

import pytest

from mockruns import carried_out, tell_samples
from pyscale.store.tables import build_tables
from pyscale_stages.timing import Timing

ENTRY = "register_denoise"
TRIAL = f"{ENTRY}-n2-b1"
READ = Timing(test="parallel_read_cold", repeat=1, wall_s=2.0)
ABSENT = Timing(test="fft_3d", repeat=0, wall_s=None, why_not="no memory")


@pytest.fixture
def run(make, tmp_path):
    """A run that has ended, and timed nothing of the machine."""
    return carried_out(make(only=(ENTRY,), repeats=1), tmp_path)


def record(run, *timings, task="w1", **keys):
    """Let a task have timed this, and said more."""
    tell_samples(run, TRIAL, task, *timings, **keys)


def test_what_is_said_of_a_place_and_of_devices_is_kept_by_node_where_it_was_timed(run):
    (node,) = build_tables(run).tasks.filter(trial=TRIAL, task="w1")["node"]
    said = {"place_filesystem": "nfs4", "cache_device": "/dev/sda"}
    record(run, versions=said)
    assert build_tables(run).sources.places == {}
    record(run, READ, task="w0", versions=said | {"numpy": "2.0", "python": "3.11"})
    record(run, ABSENT, versions={"device_0": "H200"})
    assert build_tables(run).sources.places == {node: said | {"device_0": "H200"}}


def test_the_filesystem_of_the_input_stands_with_the_task(run):
    trial = run.plan.trial(TRIAL)
    spec = json.loads((run.task(trial, "w1") / "spec.json").read_text())
    ((_, movie),) = spec["inputs"]
    disks = [
        {"path": movie, "fs_type": "nfs4", "device": "remote"},
        {"path": "/elsewhere/out", "fs_type": "tmpfs", "device": "none"},
    ]
    record(run, stamp={"filesystems": disks})
    tasks = build_tables(run).tasks.filter(trial=TRIAL)
    assert tasks.filter(task="w1")["input_storage"].item() == "nfs4 on remote"
    assert tasks.filter(task="w0")["input_storage"].item() is None
    # A folder whose files lie on two filesystems has no one storage.
    parts = [{**disks[0], "path": f"{movie}/{kind}", "fs_type": kind} for kind in ("nfs4", "ext4")]
    record(run, stamp={"filesystems": parts})
    tasks = build_tables(run).tasks.filter(trial=TRIAL, task="w1")
    assert tasks["input_storage"].item() is None
