"""Tests of a machine in the shape of CryoSPARC's files: its names, and no gap filled."""

import csv
import io
import json

import polars as pl
import pytest

from madeupmachine import made_up
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.report.cryosparclike import ON_GPU, Measured, benchmark_files

MEASURED = Measured(
    version="0.1.0",
    created_at=1773747744.0,
    movies=3,
    params={"storage": {"stack": "laptop"}, "kernels": {"preset": "laptop"}},
    folder="/scratch",
    stamps={
        "node1": {
            "kernel": "Linux 6.1",
            "cpu": {"model": "Xeon", "cores": 32, "architecture": "x86_64"},
            "memory": {"total_bytes": 256 * 2**30},
        }
    },
)
INFO = {
    "software": "pyscale",
    "pyscale_version": "0.1.0",
    "created_at": 1773747744.0,
    "instance_information": {
        "platform_node": "node1",
        "platform_release": "6.1",
        "platform_architecture": "x86_64",
        "cpu_model": "Xeon",
        "physical_cores": 32,
        "total_memory": "256.00GB",
    },
}
GOLDEN = {
    "node1_fs_benchmark_data": {
        "type": "fs",
        "timings": {
            "particle_sequential_read_time": 0.5228341986556108,
            "particle_sequential_read_rate": 501114886.2750246,
            "particle_random_read_time": 2.200579909983546,
            "particle_random_read_rate": 119059525.54204632,
            "tiff": 0.03301183650669182,
            "eer": 0.01957720313296907,
        },
        "test_info": INFO
        | {"job_params": {"benchmark_data_dir": "/scratch", "stack": "laptop", "use_ssd": False}},
    },
    "node1_cpu_benchmark_data": {
        "type": "cpu",
        "timings": {"tiff": 0.15256092397396073},
        "test_info": INFO | {"job_params": {"benchmark_data_dir": "/scratch"}},
    },
    "node1_gpu_0_benchmark_data": {
        "type": "gpu",
        "timings": {
            "fsc_tight": {
                "overall": 0.04778514506486388,
                "put_map_on_device": 0.004778514506486389,
                "apply_mask": 0.009557029012972777,
                "fft": 0.02389257253243194,
                "shells": 0.007167771759729581,
            },
            "memory_multi_linear10_max_C1": {"overall": 0.08038755499638198},
        },
        "test_info": INFO | {"job_params": {"benchmark_data_dir": "/scratch", "preset": "laptop"}},
        "gpu_name": "NVIDIA H200",
    },
}
"""Of the first node of the made-up run; its second GPU had a wrong result in `fsc_tight`."""


@pytest.fixture(scope="module")
def tests():
    found = made_up().of(MachineFindings)
    return found.tests


@pytest.fixture(scope="module")
def files(tests):
    return benchmark_files(tests, MEASURED)


def read(data):
    return json.loads(data.as_json)


def test_there_is_a_set_for_each_node_and_gpu(files):
    kinds = ("fs", "cpu", "gpu_0", "gpu_1")
    assert list(files) == [
        f"{node}_{kind}_benchmark_data" for node in ("node1", "node2") for kind in kinds
    ]


@pytest.mark.parametrize("name", GOLDEN)
def test_the_made_up_run(files, name):
    found, golden = read(files[name]), dict(GOLDEN[name])
    timings, of_golden = (dict(_flat(one.pop("timings"))) for one in (found, golden))
    assert timings == pytest.approx(of_golden, rel=1e-12)
    assert found == golden


def _flat(timings):
    found = []
    for test, value in timings.items():
        steps = value if isinstance(value, dict) else {"": value}
        found += [(f"{test}/{step}", number) for step, number in steps.items()]
    return found


def test_no_digit_is_lost(files, tests):
    found = read(files["node1_fs_benchmark_data"])["timings"]["particle_random_read_time"]
    own = tests.filter(node="node1", test="particle_random_read_cold")
    assert found == own["wall_s"].item()


def test_what_was_not_measured_is_absent_and_so_is_a_wrong_result(files):
    texts = [data.as_json for data in files.values()]
    assert not any("null" in text for text in texts)
    assert "particle_cache_time" not in texts[0]
    assert "mrc" not in read(files["node1_fs_benchmark_data"])["timings"]
    assert "eer" not in read(files["node1_cpu_benchmark_data"])["timings"]
    assert "fsc_tight" not in read(files["node1_gpu_1_benchmark_data"])["timings"]


def test_particles_of_the_cache_folder_come_first(tests):
    named = {
        "fio_sequential_read_cold": "particle_cache_copy",
        "particle_random_read_direct": "unused",
        "parallel_read_cold": "cache_random_read_cold",
        "movie_read_eer_cold": "cache_sequential_read_cold",
    }
    with_cache = tests.filter(node="node1").with_columns(pl.col("test").replace(named))
    found = read(benchmark_files(with_cache, MEASURED)["node1_fs_benchmark_data"])
    walls = dict(with_cache.filter(at_once=1).select("test", "wall_s").iter_rows())
    assert found["timings"]["particle_cache_time"] == walls["particle_cache_copy"]
    assert found["timings"]["particle_random_read_time"] == walls["cache_random_read_cold"]
    assert found["test_info"]["job_params"]["use_ssd"]


def test_the_csv_has_the_same_numbers(files):
    for data in files.values():
        rows = list(csv.DictReader(io.StringIO(data.as_csv)))
        found = {f"{row['test']}/{row['timing']}": float(row["value"]) for row in rows}
        assert found == dict(_flat(read(data)["timings"]))
        assert {row["type"] for row in rows} == {data.type}


def test_what_has_no_tests_has_no_files_and_a_gpu_alone_no_number(tests):
    is_processor = pl.col("device").is_null()
    found = benchmark_files(tests.filter(is_processor), MEASURED)
    assert {data.type for data in found.values()} == {"fs", "cpu"}
    assert benchmark_files(tests.clear(), MEASURED) == {}
    one = tests.filter(is_processor | (pl.col("device") != "NVIDIA H200 #1"), node="node1")
    assert "node1_gpu_benchmark_data" in benchmark_files(one, MEASURED)


def test_the_tests_of_the_guide_are_twenty():
    assert len(ON_GPU) == 4 + 2 + 14
    assert "disk_single_linear10_max_C1" in ON_GPU
