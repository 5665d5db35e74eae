import base64
import gzip
import json

import pytest

from pyscale.errors import UserError
from refusals import refused


def job(wall_s, *, cpus=2, nodes=1, gpus=0):
    node = {
        "cpus": cpus,
        "total_memory": 8 << 30,
        "used_memory": 3 << 30,
        "total_time": 0.5 * wall_s * cpus,
    }
    return {
        "gpus": gpus,
        "nodes": {f"n{number}": node for number in range(nodes)},
        "total_time": wall_s,
    }


def packed(told):
    return packed_bytes(json.dumps(told).encode())


def packed_bytes(told):
    return "JS1:" + base64.b64encode(gzip.compress(told, mtime=0)).decode()


def rows(table):
    return table.select("stage", "workers", "repeat", "wall_s").rows()


def test_jobs_of_one_worker_are_repeats_and_of_several_one_trial(write, imported):
    files = [write(json.dumps(job(wall), indent=4), f"{wall}.json") for wall in (90, 95)]
    table = imported("jobstats", *files, workers="1", stage="segment")[0]
    assert rows(table) == [("segment", 1, 0, 90), ("segment", 1, 1, 95)]
    table = imported("jobstats", *files, workers="2", stage="segment")[0]
    assert rows(table) == [("segment", 2, 0, 90), ("segment", 2, 0, 95)]
    # Those on other numbers of cores are no repeats.
    more = write(json.dumps(job(90, cpus=4)), "4.json")
    table = imported("jobstats", files[0], more, workers="1", stage="a")[0]
    assert table["stage"].to_list() == ["a (2 CPUs)", "a (4 CPUs)"]


@pytest.mark.parametrize(("column", "workers"), [("cpus", 6), ("nodes", 3), ("gpus", 4)])
def test_what_a_job_held_can_be_its_workers(write, imported, column, workers):
    path = write(json.dumps(job(90, nodes=3, gpus=4)))
    table = imported("jobstats", path, workers=column, stage="segment")[0]
    assert rows(table) == [("segment", workers, 0, 90)]


def test_nodes_are_added_up_and_what_one_does_not_tell_is_not_guessed(write, imported):
    told = job(90, nodes=2)
    columns = ("cpus", "cpu_s", "peak_memory_bytes", "requested_memory_bytes")
    row = imported("jobstats", write(json.dumps(told)), workers="1", stage="a")[0]
    assert row.select(columns).row(0) == (4, 180, 6 << 30, 16 << 30)
    told["nodes"]["n1"] = {"cpus": 2}
    row = imported("jobstats", write(json.dumps(told)), workers="1", stage="a")[0]
    assert row.select("cpus", "peak_memory_bytes").row(0) == (4, None)


def test_packed_figures_and_several_objects_are_read_and_jobs_without_left_out(write, imported):
    lines = write(packed(job(90)) + "\n" + packed(job(91)).removeprefix("JS1:") + "\n", "a.txt")
    objects = write(json.dumps(job(92)) + "\n" + json.dumps(job(93)) + "\n", "b.json")
    table = imported("jobstats", lines, objects, workers="1", stage="a")[0]
    assert table["wall_s"].to_list() == [90, 91, 92, 93]
    path = write(f"{packed(job(90))}\nJS1:Short\nJS1:None\n")
    table, said = imported("jobstats", path, workers="1", stage="a")
    assert len(table) == 1
    assert "left out 1 trial: a of all files (of 2 tasks 2 without figures of jobstats)" in said


def test_sacct_tells_the_memory_of_all_processes_by_its_comment(sacct, write, imported):
    sacct.job("7", comment=packed(job(60))).job("8", comment="JS1:Short", start=100)
    table = imported("sacct", write(sacct.text))[0]
    assert table["peak_memory_bytes"].to_list() == [3 << 30, 110145536]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(packed(job(90))[:60], id="is broken or was cut short"),
        pytest.param("JS1:no base64!", id="is broken or was cut short 2"),
        pytest.param("JS1:aGVsbG8=", id="is broken or was cut short 3"),
        pytest.param(json.dumps(job(90))[:60], id="is not JSON at line 1"),
        pytest.param(json.dumps({"nodes": {}}), id="key total_time is missing"),
        pytest.param(json.dumps(job(90) | {"total_time": "1 h"}), id="total_time"),
        pytest.param(json.dumps(job(90)).replace(str(3 << 30), '"3GB"'), id="nodes.n0.used_memory"),
        pytest.param(packed_bytes(b" " * (65 << 20)), id="is broken or was cut short 4"),
        pytest.param(packed_bytes(b"[" * 100_000), id="is broken or was cut short 5"),
        pytest.param('{"nodes":' * 100_000, id="is not JSON"),
        pytest.param(json.dumps(job(90)).replace("90", "9" * 5_000), id="is not JSON 2"),
        pytest.param(json.dumps(job(float("nan"))), id="nodes.n0.total_time"),
        pytest.param(json.dumps(job(-90)), id="nodes.n0.total_time 2"),
        pytest.param(json.dumps(job(90, cpus=-2)), id="nodes.n0.cpus"),
        pytest.param(json.dumps(job(90, cpus=10**30)), id="cpus of path would be 1000"),
        pytest.param("12345\n", id="line 1 is not output of jobstats"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_sentence(write, refused, text):
    path = write(text)
    refused("jobstats", path, stage="a", workers="1")


def test_a_comment_that_was_cut_short_is_named_by_its_line(sacct, write, imported):
    sacct.job("7", comment=packed(job(60))[:40])
    with refused(UserError):
        imported("sacct", write(sacct.text))


@pytest.mark.parametrize(
    "options",
    [
        {"workers": "1"},
        {"workers": "gpu", "stage": "a"},
        {"workers": "gpus", "stage": "a"},
    ],
    ids=str,
)
def test_what_the_user_must_say_is_asked_for(write, imported, options):
    with refused(UserError):
        imported("jobstats", write(json.dumps(job(90))), **options)
