"""The tidy tables say of each task where it ran, what it waited for, asked for and used."""

import json
from datetime import datetime, timedelta

import polars as pl
import pytest

from mockruns import carried_out, tell, tell_samples
from pyscale.store.folder import RunFolder
from pyscale.store.records import Bystanders, NodeRecord, Surroundings, TrialCache
from pyscale.store.tables import (
    FILES,
    build_tables,
    call_schema,
    read_table,
    span_schema,
    task_schema,
    timing_schema,
    write_tables,
)
from pyscale.store.taskfiles import read_task
from pyscale_stages.timing import Call, Timing

TRIAL = "register_denoise-n2-b1"


@pytest.fixture
def run(make, tmp_path):
    """A run of one stage at N = 1 and 2 that has ended."""
    plan = make(only=("register_denoise",), repeats=1)
    return carried_out(plan, tmp_path)


def change(run, task, record, **keys):
    """Change a record of a task as a cluster would have written it."""
    tell(run, TRIAL, task, record, **keys)


def row(run, task):
    tasks = build_tables(run).tasks
    return tasks.row(by_predicate=(pl.col("trial") == TRIAL) & (pl.col("task") == task), named=True)


PARTS = {
    FILES["calls"]: [Call(frame=0, index=0, shape_yx=(8, 8), wall_s=1.0)],
    FILES["timings"]: [Timing(test="fft_3d", repeat=0, wall_s=None, why_not="no memory")],
    FILES["loading"]: [],
    FILES["reconstruction"]: [],
}


def test_the_tables_have_the_columns_that_they_say(run):
    tables = build_tables(run)
    tasks, spans = tables.tasks, tables.spans
    assert dict(tasks.schema) == task_schema()
    assert dict(spans.schema) == span_schema()
    assert dict(tables.calls.schema) == call_schema()
    assert dict(tables.timings.schema) == timing_schema()
    assert tasks["windows"].to_list() == [1, 2, 2, 2, 2]
    assert tasks["task"].to_list() == ["w0", "w0", "w1", "merge", "check"]
    assert tasks["position"].to_list() == [0, 1, 1, 1, 1]


@pytest.mark.parametrize(("name", "told"), PARTS.items())
def test_a_table_of_what_not_all_stages_do_is_written_while_there_are_any_rows(run, name, told):
    for rows in (told, []) if told else ([],):
        tell_samples(run, TRIAL, "w1", *rows)
        write_tables(run.path, build_tables(run))
        assert (run.path / name).exists() == bool(rows)
        if rows:
            assert pl.read_parquet(run.path / name).height == 1
        # One that is left of before goes.
        (run.path / name).touch()
    write_tables(run.path, build_tables(run))
    assert not (run.path / name).exists()


def test_tables_are_read_from_a_folder_whose_name_would_be_a_pattern(run, tmp_path):
    folder = tmp_path / "mine [ab]*"
    folder.mkdir()
    tables = build_tables(run)
    write_tables(folder, tables)
    assert read_table(folder, "tasks").equals(tables.tasks)
    assert read_table(folder, "calls").is_empty()


@pytest.mark.parametrize("held_s", [0.0, 0.5])
def test_the_wait_in_the_queue_is_without_that_behind_the_trial_before(run, held_s):
    before = build_tables(run).tasks.filter(pl.col("trial") != TRIAL)["end_utc"].max()
    assert isinstance(before, datetime)
    submitted, begin = before - timedelta(seconds=held_s), before + timedelta(seconds=7)
    orders = {"w0": submitted, "w1": submitted, "merge": begin, "check": begin}
    for task, submit in orders.items():
        change(run, task, "order.json", submit_utc=submit)
    starts = {"begin_utc": begin, "spawn_utc": begin + timedelta(seconds=2)}
    change(run, "w0", "launch.json", job_id="9_0", **starts)
    found = row(run, "w0")
    assert (found["queue_s"], found["prepare_s"], found["job_id"]) == (7.0, 2.0, "9_0")


def test_lanes_are_those_of_the_order_or_follow_from_the_times(run):
    assert [row(run, task)["lane"] for task in ("w0", "w1", "merge")] == [0, 1, None]
    for task, slot in (("w0", 1), ("w1", 0)):
        change(run, task, "order.json", slot=slot)
    assert [row(run, task)["lane"] for task in ("w0", "w1")] == [1, 0]


def tell_of_node(run, node, state, runnable, trial=TRIAL):
    """Leave what the first task on a node with four cores found there."""
    around = Bystanders(node=node, cores=4, pyscale_tasks=0, runnable=runnable)
    record = NodeRecord(
        cache=TrialCache.model_validate({"asked": "cold", "state": state}),
        surroundings=Surroundings(start=around),
    )
    folder = run.trial(run.plan.trial(trial))
    (folder / f"node.{node}.json").write_text(record.model_dump_json())


def test_each_node_of_a_trial_has_its_own_page_cache_and_its_own_bystanders(run):
    change(run, "w0", "launch.json", node="a")
    change(run, "w1", "launch.json", node="b")
    tell_of_node(run, "a", "verified-cold", runnable=3)
    # What was seen on another node says nothing of this one.
    assert [row(run, task)["disturbed"] for task in ("w0", "w1")] == [False, None]
    tell_of_node(run, "b", "evicted-unverified", runnable=4)
    found = [row(run, task) for task in ("w0", "w1")]
    assert [task["cache_state"] for task in found] == ["verified-cold", "evicted-unverified"]
    assert [task["cache_asked"] for task in found] == ["cold", "cold"]
    # One worker and three others fit on the four cores of a; on b there are four others.
    assert [task["disturbed"] for task in found] == [False, True]


def test_on_its_own_machine_a_trial_has_what_pyscale_itself_prepared_and_saw(run):
    found = [row(run, task) for task in ("w0", "merge")]
    assert [task["cache_asked"] for task in found] == ["cold", None]
    assert [task["disturbed"] for task in found] == [False, False]
    file = run.trial(run.plan.trial(TRIAL)) / "surroundings.json"
    start = Surroundings.model_validate_json(file.read_text()).start
    end = start.model_copy(update={"pyscale_tasks": 1})
    file.write_text(Surroundings(start=start, end=end).model_dump_json())
    assert row(run, "w0")["disturbed"] is True


def test_only_the_windows_at_work_on_a_node_count_against_its_cores(run):
    """Two workers of one node, at the same time and then one after the other."""
    tell_of_node(run, "a", "verified-cold", runnable=3)
    for task in ("w0", "w1"):
        change(run, task, "launch.json", node="a")
    assert row(run, "w0")["disturbed"] is True
    ended = read_task(run.task(run.plan.trial(TRIAL), "w0")).result
    later = ended.end_utc + timedelta(seconds=1)
    change(run, "w1", "result.json", start_utc=later, end_utc=later + timedelta(seconds=1))
    assert row(run, "w0")["disturbed"] is False


def test_a_task_that_failed_has_a_row_without_times(run):
    folder = run.task(run.plan.trial(TRIAL), "w1")
    (folder / "result.json").unlink()
    change(run, "w1", "exit.json", returncode=-9)
    found = row(run, "w1")
    assert (found["status"], found["wall_s"], found["lane"]) == ("failed", None, None)
    assert "SIGKILL" in found["error"]


def test_a_run_without_records_has_empty_tables(make, tmp_path):
    tables = build_tables(RunFolder.create(tmp_path / "others", make()))
    assert (tables.tasks.height, tables.spans.height, tables.calls.height) == (0, 0, 0)
    assert tables.timings.is_empty()
    assert dict(tables.tasks.schema) == task_schema()


ENTRY = "register_denoise"
BASE = f"{ENTRY}-n1-b1"


@pytest.fixture
def beside(make, tmp_path):
    """A run of an entry on one worker, and on two that are set beside it."""
    plan = make(only=(ENTRY,), repeats=1)
    changes = {BASE: {"threads": 3}, TRIAL: {"beside_trial": BASE}}
    trials = [trial.model_copy(update=changes[trial.id]) for trial in plan.trials]
    plan = plan.model_copy(update={"trials": tuple(trials)})
    return carried_out(plan, tmp_path)


def test_the_threads_of_its_own_point_decide_whether_a_trial_had_to_share(beside):
    """Of BASE, which has three on four cores; the run's other workers have one."""
    (node,) = build_tables(beside).tasks.filter(trial=BASE, task="w0")["node"]
    for others, disturbed in ((1, False), (2, True)):
        tell_of_node(beside, node, "warm", others, BASE)
        (found,) = build_tables(beside).tasks.filter(trial=BASE, task="w0")["disturbed"]
        assert found is disturbed


def test_memory_of_the_device_stands_in_the_row_of_a_task(beside):
    used = {"gpu_own_peak_bytes": 2**30, "gpu_peak_bytes": 2**31}
    tell(beside, BASE, "w0", counters=used)
    (row,) = build_tables(beside).tasks.filter(trial=BASE, task="w0").select(*used).to_dicts()
    assert row == used


def test_what_is_set_beside_another_point_is_no_check_of_agreement(beside):
    folder = beside.task(beside.plan.trial(TRIAL), "beside")
    found = json.loads((folder / "result.json").read_text())["agreement"]
    details = {"ap_iou50": 0.9, "cells_other": 12.0}
    found |= {"score": 0.75, "same": False, "identical": False, "details": details}
    tell(beside, TRIAL, "beside", agreement=found)
    tasks = build_tables(beside).tasks
    (found,) = tasks.filter(task="beside").to_dicts()
    assert (found["verb"], found["beside_trial"], found["beside_agreement"]) == (
        "check",
        BASE,
        0.75,
    )
    assert found["beside_identical"] is False
    assert json.loads(found["beside_details"]) == details
    assert (found["agreement"], found["agreement_same"], found["quality"]) == (None, None, "{}")
    others = tasks.filter(pl.col("task") != "beside")
    assert others.select(pl.col("^beside_.*$").null_count()).row(0) == (others.height,) * 6
    assert others.filter(task="check")["agreement"].to_list() == [1.0]


READ = Timing(test="parallel_read_cold", repeat=1, wall_s=2.0)
ABSENT = Timing(test="fft_3d", repeat=0, wall_s=None, why_not="no memory")


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
