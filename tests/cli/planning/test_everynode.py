"""Every node of a partition is measured at once, but for those that take no jobs."""

import os
from pathlib import Path

import pytest

from mockruns import plan_of, site
from programs import put_program
from pyscale.errors import UserError
from pyscale.planning.everynode import nodes_for, on_every_node
from pyscale.planning.planentry import Dataset
from pyscale.planning.runsettings import settings_for
from pyscale.planning.suite import Suite, SuiteStage
from pyscale.settings import Settings
from refusals import refused

SINFO = """\
#!/bin/sh
case "$*" in
    *%N*) printf 'n10|idle|none\\nn2|mixed|none\\nn3|drained|fan broken\\nn4|down*|none\\n' ;;
    *%P*) printf 'cpu*\\ngpu\\n' ;;
    *) printf 'cpu\\ngpu\\nempty\\n' ;;
esac
"""
STAGES = ("storage", "decompress", "kernels")
MACHINE = Suite(
    name="machine",
    summary="",
    data="place",
    stages={name: SuiteStage(inputs={"place": "place"}) for name in STAGES},
)


@pytest.fixture
def sinfo(tmp_path, monkeypatch):
    """A cluster of four nodes of which two take jobs, in each of its partitions."""
    program = put_program(tmp_path, "sinfo", SINFO)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return program


def found(suite=MACHINE, only=(), place=None, **given):
    settings = Settings(every_node=True, executor="slurm", **given)
    return nodes_for(suite, only, settings, place or site())


def test_nodes_that_take_no_jobs_are_named_and_left_out(sinfo, capsys):
    assert found() == ("n2", "n10")
    assert " ".join(capsys.readouterr().err.split()) == (
        "n3 of the partition cpu is drained (fan broken) and is left out "
        "n4 of the partition cpu is down* and is left out"
    )
    sinfo.write_text(SINFO.replace("idle", "down").replace("mixed", "drained"))
    with refused(UserError):
        found()


def test_each_trial_has_one_job_with_a_worker_on_each_node(sinfo):
    plan = plan_of(MACHINE, None, "runs", (2,), every_node=True)
    spread = on_every_node(plan, ("n2", "n10"))
    assert {trial.nodes for trial in spread.trials} == {("n2", "n10")}
    assert {trial.layout for trial in spread.trials} == {"gang"}
    assert {len(trial.windows) for trial in spread.trials} == {2}
    assert on_every_node(plan, ()) is plan


def test_ranks_are_one_on_each_node_and_what_is_measured_beside_them_is_on_one(sinfo):
    stages = {slot: SuiteStage(inputs={slot: slot}) for slot in ("slides", "place")}
    stages = {"loader": stages["slides"], "storage": stages["place"]}
    ranks = Suite(name="ranks", summary="", data="slides", stages=stages)
    nodes = found(ranks)
    assert nodes == ("n2", "n10")
    plan = plan_of(ranks, Dataset(Path("slides"), frames=4), "runs", (2,), every_node=True)
    spread = on_every_node(plan, nodes).trials
    assert {trial.entry: (trial.workers, trial.nodes) for trial in spread} == {
        "loader": (2, nodes),
        "storage": (1, ()),
    }


def test_what_has_no_nodes_to_measure_is_refused():
    with refused(UserError):
        nodes_for(MACHINE, (), Settings(every_node=True), None)
    assert nodes_for(MACHINE, (), Settings(), None) == ()
    stages = {**MACHINE.stages, "segment": SuiteStage(inputs={"frames": "movie"})}
    mixed = MACHINE.model_copy(update={"stages": stages, "data": "movie"})
    with refused(UserError):
        found(mixed)
    # The nodes say how many workers there are.
    flags = {"every_node": True, "executor": "slurm"}
    assert settings_for("system", flags).workers is None
    with refused(UserError):
        settings_for("system", flags | {"workers": "2"})


def test_entries_of_several_partitions_are_measured_one_partition_at_a_time(sinfo):
    place = site(override=[{"stage": "kernels", "partition": "gpu"}])
    with refused(UserError):
        found(place=place)
    assert found(only=("kernels",), place=place) == ("n2", "n10")


@pytest.mark.parametrize(
    ("fields", "settings"),
    [
        ({"request": {"partition": "cpu,gpu"}}, {}),
        ({"request": {"partition": "absent"}}, {}),
        ({"options": ["--exclude=n2"]}, {}),
        ({}, {"layout": "array"}),
    ],
    ids=str,
)
def test_what_would_say_otherwise_which_nodes_are_measured_is_refused(sinfo, fields, settings):
    with refused(UserError):
        found(place=site(**fields), **settings)
