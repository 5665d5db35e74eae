import json
import os
import shutil

import polars as pl
import pytest

from pyscale_stages.storage.fio import fio_version, read_of, replay_of
from pyscale_stages.storage.reading import Piece
from pyscale_stages.storage.reads import Read
from pyscale_stages.timing import Timing


def answer(**changes):
    """JSON as fio 3.33 prints it, as far as it matters."""
    read = {
        "io_bytes": 8 << 20,
        "runtime": 250,
        "total_ios": 8,
        "clat_ns": {"mean": 31e6, "percentile": {"50.000000": 30_000_000, "99.000000": 60_000_000}},
    }
    return json.dumps({"fio version": "fio-3.33", "jobs": [{"read": read | changes}]})


def test_time_bytes_and_latencies_are_taken_from_the_answer():
    read = read_of("fio: a note before the answer\n" + answer(), 1 << 20)
    assert read == Read(
        0.25,
        8 << 20,
        {
            "block_bytes": 1 << 20,
            "reads_per_s": 32.0,
            "latency_p50_s": 0.03,
            "latency_p99_s": 0.06,
            "latency_mean_s": 0.031,
        },
    )


@pytest.mark.parametrize(
    ("said", "why_not"),
    [
        ("", "unreadable answer of fio"),
        ('{"jobs": []}', "unreadable answer of fio"),
        (answer(runtime=0), "too short for fio"),
        (answer(io_bytes=0), "no file holds a whole block of 4096 bytes"),
    ],
)
def test_an_answer_without_a_time_is_no_time(said, why_not):
    found = read_of(said, 4096)
    assert isinstance(found, str)
    assert why_not in found


def test_without_fio_its_tests_name_what_to_install(bench, timings, place, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = bench.run("run", place, fio=True, modes=["warm"])
    assert result.error is None
    assert result.versions["fio"] == "not installed"
    rows = timings(tmp_path / "out").filter(pl.col("test").str.starts_with("fio"))
    assert set(rows["test"]) == {"fio_sequential_read_warm", "fio_random_read_warm"}
    assert set(rows["why_not"]) == {"fio is not installed here: apt-get install fio"}
    assert rows["wall_s"].null_count() == 2


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Put a program named fio onto the path; it keeps its arguments in the file returned."""

    def put(ending):
        folder = tmp_path / "bin"
        folder.mkdir()
        kept = tmp_path / "arguments"
        program = folder / "fio"
        program.write_text(f'#!/bin/sh\necho "$@" >> {kept}\n{ending}\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return kept

    return put


def test_fio_is_asked_for_the_same_files_blocks_and_engine(bench, stand_in, place):
    kept = stand_in(f"echo '{answer()}'")
    result = bench.run("run", place, fio=True, modes=["cold"])
    assert result.error is None
    lines = [line for line in kept.read_text().splitlines() if "psync" in line]
    (in_order,) = (line for line in lines if "--rw=read " in line)
    (at_random,) = (line for line in lines if "--read_iolog=../fio.log " in line)
    for line in (in_order, at_random):
        for option in ("--iomem=mmap", "--direct=0", "--ioengine=psync", "--invalidate=0"):
            assert f"{option} " in line
    for option in ("--filename_format=particles$filenum.mrc", "--nrfiles=3", "--bs=4096"):
        assert f"{option} " in in_order
    (timing,) = [t for t in result.of(Timing) if t.test == "fio_sequential_read_cold"]
    assert timing.wall_s == 0.25


def test_fio_reads_in_the_order_of_the_stage():
    pieces = [Piece(1, 1024, 2048), Piece(0, 5120, 2048)]
    lines = replay_of(pieces, ["a.mrc", "b.mrc"], 512).splitlines()
    assert [line for line in lines if " read " in line] == [
        "b.mrc read 1024 2048",
        "a.mrc read 5120 2048",
    ]
    assert "b.mrc read 0 2048\na.mrc read 4096 2048\n" in replay_of(
        pieces, ["a.mrc", "b.mrc"], 4096
    )


def test_what_fio_fails_with_is_told(bench, stand_in, place):
    stand_in("echo 'fio: engine psync not loadable' >&2; exit 1")
    result = bench.run("run", place, fio=True, modes=["warm"])
    why_not = {t.why_not for t in result.of(Timing) if t.test.startswith("fio")}
    assert why_not == {"fio failed: fio: engine psync not loadable"}


@pytest.mark.slow
def test_real_fio_reads_as_many_bytes(bench, place, missing):
    if shutil.which("fio") is None:
        missing("fio", "apt-get install fio")
    assert (fio_version() or "").startswith("fio-")
    # Enough for fio's clock of a millisecond: 64 MB.
    result = bench.run(
        "run",
        place,
        fio=True,
        modes=["cold"],
        particles=1_024,
        particle_side_px=128,
        particle_files=8,
        movie_formats=["mrc"],
        readers=[1],
    )
    fio = [t for t in result.of(Timing) if t.test.startswith("fio")]
    assert not any(t.why_not for t in fio)
    assert {t.amount for t in fio} == {1_024 * 128 * 128 * 4}
    assert all(t.wall_s for t in fio)
