"""The rows of a point of a grid: its threads and memory, and what it is set beside."""

import json

import polars as pl
import pytest

from mockruns import carried_out, tell
from pyscale.store.records import Bystanders, NodeRecord, Surroundings, TrialCache
from pyscale.store.tables import build_tables

ENTRY = "register_denoise"
BASE, TRIAL = f"{ENTRY}-n1-b1", f"{ENTRY}-n2-b1"


@pytest.fixture
def run(make, tmp_path):
    """A run of an entry on one worker, and on two that are set beside it."""
    plan = make(only=(ENTRY,), repeats=1)
    changes = {BASE: {"threads": 3}, TRIAL: {"beside_trial": BASE}}
    trials = [trial.model_copy(update=changes[trial.id]) for trial in plan.trials]
    plan = plan.model_copy(update={"trials": tuple(trials)})
    return carried_out(plan, tmp_path)


def test_the_threads_of_its_own_point_decide_whether_a_trial_had_to_share(run):
    """Of BASE, which has three on four cores; the run's other workers have one."""
    trial = run.plan.trial(BASE)
    (node,) = build_tables(run).tasks.filter(trial=BASE, task="w0")["node"]
    for others, disturbed in ((1, False), (2, True)):
        around = Bystanders(node=node, cores=4, pyscale_tasks=0, runnable=others)
        record = NodeRecord(
            cache=TrialCache(asked="warm", state="warm"), surroundings=Surroundings(start=around)
        )
        (run.trial(trial) / f"node.{node}.json").write_text(record.model_dump_json())
        (found,) = build_tables(run).tasks.filter(trial=BASE, task="w0")["disturbed"]
        assert found is disturbed


def test_memory_of_the_device_stands_in_the_row_of_a_task(run):
    used = {"gpu_own_peak_bytes": 2**30, "gpu_peak_bytes": 2**31}
    tell(run, BASE, "w0", counters=used)
    (row,) = build_tables(run).tasks.filter(trial=BASE, task="w0").select(*used).to_dicts()
    assert row == used


def test_what_is_set_beside_another_point_is_no_check_of_agreement(run):
    folder = run.task(run.plan.trial(TRIAL), "beside")
    found = json.loads((folder / "result.json").read_text())["agreement"]
    details = {"ap_iou50": 0.9, "cells_other": 12.0}
    found |= {"score": 0.75, "same": False, "identical": False, "details": details}
    tell(run, TRIAL, "beside", agreement=found)
    tasks = build_tables(run).tasks
    (beside,) = tasks.filter(task="beside").to_dicts()
    assert (beside["verb"], beside["beside_trial"], beside["beside_agreement"]) == (
        "check",
        BASE,
        0.75,
    )
    assert beside["beside_identical"] is False
    assert json.loads(beside["beside_details"]) == details
    assert (beside["agreement"], beside["agreement_same"], beside["quality"]) == (None, None, "{}")
    others = tasks.filter(pl.col("task") != "beside")
    assert others.select(pl.col("^beside_.*$").null_count()).row(0) == (others.height,) * 6
    assert others.filter(task="check")["agreement"].to_list() == [1.0]
