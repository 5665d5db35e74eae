"""Tests of a machine in the shape in which CryoSPARC's benchmark keeps its results.

The shape is that of its guide, "Performance Benchmarking (v4.3+)": the kinds `fs`, `cpu` and
`gpu`, `timings` by test, in seconds, `test_info`, and of a GPU its name. Which of our tests stands
for which of its own:

- `fs`: `tiff`, `eer` and `mrc` are `movie_read_*_cold` divided by the number of movies, as there a
  time is that of one movie; `particle_cache_time` is `particle_cache_copy`; the times and rates of
  particles are those of the cache folder where there is one, else of the measured folder. Of the
  ways to read it is always the cold one, for which the guide's program drops what it reads from
  the page cache too. The guide names no unit of a rate: here it is bytes a second.
- `cpu`: `tiff` and `eer` are decoding by one thread, TIFF with LZW.
- `gpu`: tests have the names of the guide. Each holds its `overall` time, which the guide shows
  no example of, and the seconds of its steps by their names here.

A number is the median over trials, without first calls. What was not measured, cannot run, or had a
wrong result is absent. The software is pyscale: these are no times of CryoSPARC.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import polars as pl
from pydantic import Field, JsonValue

from pyscale_stages.contract import Record
from pyscale_stages.kernels.stage import COMBINATIONS

MOVIES = ("tiff", "eer", "mrc")
CODECS = {"tiff": "tiff_lzw", "eer": "eer"}
ON_GPU = (
    *("fsc_spherical", "fsc_loose", "fsc_tight", "fsc_noisesub"),
    *("matched_cv_filter_estimation", "picking"),
    *(how.name for how in COMBINATIONS),
)
OVERALL = "overall"
GIB = 2**30
LIMITS = ("ofd_soft_limit", "ofd_hard_limit")
"""Of open files."""


class BenchmarkData(Record):
    """One of the files: a kind of test on one node, or on one GPU of it."""

    type: Literal["fs", "cpu", "gpu"]
    timings: dict[str, float | dict[str, float]] = Field(
        description="Seconds, and of rates bytes a second, by test; on a GPU by test and step"
    )
    test_info: dict[str, JsonValue]
    gpu_name: str | None = None
    gpu_bus_id: str | None = None

    @property
    def as_json(self) -> str:
        """Text of the JSON file; every number has all its digits."""
        return json.dumps(self.model_dump(mode="json", exclude_none=True), indent=1) + "\n"

    @property
    def as_csv(self) -> str:
        """Text of the CSV file: a row for each number."""
        rows = [
            (self.type, test, step, number)
            for test, value in self.timings.items()
            for step, number in (value if isinstance(value, dict) else {"": value}).items()
        ]
        return pl.DataFrame(rows, ["type", "test", "timing", "value"], orient="row").write_csv()


class Measured(Record):
    """Facts of the files beside times."""

    version: str = Field(description="Of pyscale")
    created_at: float = Field(description="When the run began, in seconds since 1970, UTC")
    movies: int = Field(description="Movies of each format that were read one after the other")
    params: dict[str, dict[str, JsonValue]] = Field(description="Of each stage")
    folder: str | None = Field(description="The folder that was measured")
    stamps: dict[str, dict[str, Any]] = Field(description="Hardware stamp of each node")


def benchmark_files(tests: pl.DataFrame, measured: Measured) -> dict[str, BenchmarkData]:
    """Put the tests of a run into files, one for each kind, node and GPU that has any.

    They are by the name of the file without its ending, such as `node1_fs_benchmark_data`. Tests
    that one process of a node did, not beside others, are taken.
    """
    right = tests.filter(
        pl.col("processes") == 1,
        pl.col("wall_s").is_not_null(),
        ~pl.col("flags").list.contains("disagrees"),
        # Of entries that do the same tests, the first.
        pl.col("stage") == pl.col("stage").first().over("kind", "device"),
    )
    place = {} if measured.folder is None else {"benchmark_data_dir": measured.folder}
    found = {}
    for node in right["node"].unique(maintain_order=True):
        own = right.filter(pl.col("node").eq_missing(node))
        files = {("fs", "storage"): _of_storage(own, measured.movies)}
        files["cpu", "decompress"] = _of_decoding(own)
        gpus = measured.stamps.get(str(node), {}).get("gpus", ())
        files |= {("gpu" + which, "kernels"): told for which, told in _of_gpus(own, gpus)}
        for (name, stage), told in files.items():
            if told["timings"]:
                params = place | measured.params.get(stage, {}) | told.pop("job_params", {})
                info = _test_info(measured, str(node)) | {"job_params": params}
                found[f"{node}_{name}_benchmark_data"] = BenchmarkData(
                    type=name.partition("_")[0], test_info=info, **told
                )
    return found


def _of_storage(own: pl.DataFrame, movies: int) -> dict[str, Any]:
    whole = own.filter(pl.col("step").is_null(), kind="storage", at_once=1).to_dicts()
    tests = {row["test"]: row for row in whole}
    timings = {}
    if "particle_cache_copy" in tests:
        timings["particle_cache_time"] = tests["particle_cache_copy"]["wall_s"]
    for order in ("sequential", "random"):
        read = tests.get(f"cache_{order}_read_cold") or tests.get(f"particle_{order}_read_cold")
        if read is not None:
            timings[f"particle_{order}_read_time"] = read["wall_s"]
            if read["rate"] is not None:
                timings[f"particle_{order}_read_rate"] = read["rate"]
    for kind in MOVIES:
        if f"movie_read_{kind}_cold" in tests:
            timings[kind] = tests[f"movie_read_{kind}_cold"]["wall_s"] / movies
    used = {"use_ssd": "cache_sequential_read_cold" in tests}
    return {"timings": timings, "job_params": used}


def _of_decoding(own: pl.DataFrame) -> dict[str, Any]:
    decoded = own.filter(kind="decompress", step="decode", at_once=1).unique("test", keep="first")
    walls = dict(decoded.select("test", "wall_s").iter_rows())
    return {"timings": {name: walls[test] for name, test in CODECS.items() if test in walls}}


def _of_gpus(
    own: pl.DataFrame, gpus: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What each GPU of a node did, numbered where there are several."""
    kernels = own.filter(pl.col("kind") == "kernels", pl.col("device").is_not_null())
    devices = kernels["device"].unique(maintain_order=True).to_list()
    for number, device in enumerate(devices):
        timings = {}
        for test in ON_GPU:
            rows = kernels.filter(device=device, test=test).to_dicts()
            # A step of a wrong test is not flagged itself: without the whole nothing is told.
            if any(row["step"] is None for row in rows):
                timings[test] = {row["step"] or OVERALL: row["wall_s"] for row in rows}
        # Without its number among the GPUs of its name.
        named = re.sub(r" #\d+$", "", device)
        which = "" if len(devices) == 1 else f"_{number}"
        # Which of the stamp it is, is known where the tests used all of them.
        place = gpus[number].get("bus_id") if len(gpus) == len(devices) else None
        yield which, {"timings": timings, "gpu_name": named, "gpu_bus_id": place}


def _test_info(measured: Measured, node: str) -> dict[str, Any]:
    stamp = measured.stamps.get(node, {})
    cpu, memory = stamp.get("cpu", {}), stamp.get("memory", {})
    told = {
        "platform_node": node,
        "platform_release": str(stamp.get("kernel", "")).removeprefix("Linux "),
        "platform_version": stamp.get("kernel_version"),
        "platform_architecture": cpu.get("architecture"),
        "cpu_model": cpu.get("model"),
        "physical_cores": cpu.get("cores"),
        **{
            f"{which}_memory": f"{memory[f'{which}_bytes'] / GIB:.2f}GB"
            for which in ("total", "available", "used")
            if memory.get(f"{which}_bytes") is not None
        },
        **dict(zip(LIMITS, stamp.get("open_files") or (), strict=False)),
    }
    return {
        "software": "pyscale",
        "pyscale_version": measured.version,
        "created_at": measured.created_at,
        "instance_information": {name: value for name, value in told.items() if value},
    }
