"""Tests of a machine in the shape of CryoSPARC's files: its names, and no gap filled.

What the files hold stands in `tests/golden/cryosparc`.
"""

import csv
import io
import json

import polars as pl
import pytest

from madeupmachine import ABOUT_THE_RUN, made_up
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.report.cryosparclike import benchmark_files


@pytest.fixture(scope="module")
def tests():
    return made_up().of(MachineFindings).tests


@pytest.fixture(scope="module")
def files(tests):
    return benchmark_files(tests, ABOUT_THE_RUN)


def read(data):
    return json.loads(data.as_json)


def test_there_is_a_set_for_each_node_and_gpu_and_the_csv_has_the_same_numbers(files):
    kinds = ("fs", "cpu", "gpu_0", "gpu_1")
    assert list(files) == [
        f"{node}_{kind}_benchmark_data" for node in ("node1", "node2") for kind in kinds
    ]
    for data in files.values():
        rows = list(csv.DictReader(io.StringIO(data.as_csv)))
        found = {f"{row['test']}/{row['timing']}": float(row["value"]) for row in rows}
        assert found == dict(_flat(read(data)["timings"]))
        assert {row["type"] for row in rows} == {data.type}


def _flat(timings):
    found = []
    for test, value in timings.items():
        steps = value if isinstance(value, dict) else {"": value}
        found += [(f"{test}/{step}", number) for step, number in steps.items()]
    return found


def test_particles_of_the_cache_folder_come_first(tests):
    named = {
        "particle_sequential_read_direct": "particle_cache_copy",
        "particle_random_read_direct": "unused",
        "parallel_read_cold": "cache_random_read_cold",
        "movie_read_eer_cold": "cache_sequential_read_cold",
    }
    with_cache = tests.filter(node="node1").with_columns(pl.col("test").replace(named))
    found = read(benchmark_files(with_cache, ABOUT_THE_RUN)["node1_fs_benchmark_data"])
    walls = dict(with_cache.filter(at_once=1).select("test", "wall_s").iter_rows())
    assert found["timings"]["particle_cache_time"] == walls["particle_cache_copy"]
    assert found["timings"]["particle_random_read_time"] == walls["cache_random_read_cold"]
    assert found["test_info"]["job_params"]["use_ssd"]


def test_what_has_no_tests_has_no_files_and_a_gpu_alone_no_number(tests):
    is_processor = pl.col("device").is_null()
    found = benchmark_files(tests.filter(is_processor), ABOUT_THE_RUN)
    assert {data.type for data in found.values()} == {"fs", "cpu"}
    assert benchmark_files(tests.clear(), ABOUT_THE_RUN) == {}
    one = tests.filter(is_processor | (pl.col("device") != "NVIDIA H200 #1"), node="node1")
    assert "node1_gpu_benchmark_data" in benchmark_files(one, ABOUT_THE_RUN)
