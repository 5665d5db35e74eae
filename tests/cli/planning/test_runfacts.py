import pytest

from pyscale.planning.runfacts import Differing, differences, differing, facts
from refusals import assert_said

STAMP = {
    "cpu": {"model": "Xeon", "cores": 8, "threads": 16, "governors": ["performance"] * 16},
    "memory": {"total_bytes": 32 * 2**30, "transparent_hugepages": "madvise"},
    "limits": {"memory_bytes": None, "cpus": None},
    "filesystems": [
        {"path": "/data/movie.tif", "fs_type": "ext4", "device": "/dev/sda"},
        {"path": "/runs/out", "fs_type": "ext4", "device": "/dev/sda"},
    ],
    "gpus": [],
    "kernel": "Linux 6.1",
    "libc": "glibc 2.36",
    "load_1min": 0.3,
}
VERSIONS = {
    stage: {"numpy": "2.0.2", "scipy": "1.14.1"}
    for stage in ("register_denoise", "segment", "contact", "track")
}


def manifest(stamp=STAMP, **changes):
    return {
        "pyscale": {"version": "0.1.0", "git_commit": "a" * 40, "git_dirty": False},
        "python": "3.11.2",
        "containers": None,
        "versions": VERSIONS,
        "hardware": {"xeon": {"stamp": stamp}},
    } | changes


@pytest.fixture
def told(make):
    def told(own, nodes=("node1",), **settings):
        plan = make(**settings)
        return facts(plan, own, nodes, set(plan.suite.stages))

    return told


def found(base, new):
    told = differences(base, new)
    return [f"{each.kind}: {each.what}: {each.base} -> {each.new}" for each in told]


@pytest.mark.parametrize(
    ("stamp", "settings", "differ"),
    [
        ({"load_1min": 7.0}, {}, []),
        ({}, {"workers": (1, 2, 4), "repeats": 5}, []),
        ({}, {"seed": 3}, ["settings: seed: 0 -> 3"]),
    ],
    ids=["another load", "other counts of workers and repeats", "another seed"],
)
def test_two_runs_on_one_machine_differ_in_what_decides_alone(told, stamp, settings, differ):
    assert found(told(manifest()), told(manifest(STAMP | stamp), **settings)) == differ


def test_hardware_that_differs_is_named_first(told):
    other = STAMP | {
        "cpu": STAMP["cpu"] | {"model": "EPYC"},
        "memory": STAMP["memory"] | {"total_bytes": 64 * 2**30},
        "gpus": [{"name": "H200", "driver": "570.1", "mig": False}],
        "filesystems": [{"fs_type": "nfs4", "device": "server:/data"}],
        "kernel": "Linux 6.18",
        "libc": "glibc 2.41",
    }
    assert_said(*found(told(manifest()), told(manifest(other), ("node2",), cache="warm")))


def test_one_package_that_changed_in_several_stages_is_one_line(told):
    versions = VERSIONS | {
        "segment": {"numpy": "2.1.0", "scipy": "1.14.1", "torch": "2.13"},
        "track": {"numpy": "2.1.0", "scipy": "1.14.1"},
        "contact": {"numpy": "2.2.0", "scipy": "1.14.1"},
    }
    assert_said(*found(told(manifest()), told(manifest(versions=versions))))


def test_code_is_told_by_commit_and_images(told):
    dirty = {"version": "0.1.0", "git_commit": "a" * 40, "git_dirty": True}
    containers = {"engine": "apptainer 1.3", "images": [{"name": "track", "sha256": "b" * 64}]}
    new = manifest(pyscale=dirty, containers=containers)
    assert_said(*found(told(manifest()), told(new, runtime="apptainer")))


def test_parameters_of_compared_stages_are_settings(told, make):
    plan = make(stages={"segment": {"diameter_px": 21}})
    changed = facts(plan, manifest(), ("node1",), set(plan.suite.stages))
    assert_said(*found(told(manifest()), changed))
    others = facts(plan, manifest(), ("node1",), {"track"})
    assert "diameter_px of segment" not in others["settings"]


def test_of_several_runs_every_value_is_told_where_not_all_are_the_same(told):
    runs = [told(manifest()), told(manifest(), cache="warm"), told(manifest())]
    assert differing(runs) == [
        Differing(kind="settings", what="cache", values=("cold", "warm", "cold"))
    ]
    assert differing([told(manifest())] * 3) == []
