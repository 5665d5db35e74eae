"""Reading is set beside the storage only where both are of the same, and cold."""

import polars as pl
import pytest

from pyscale.analysis.machine.headroom import HEADROOM_SCHEMA, headroom

MB = 10**6
VDA = "ext4 on /dev/vda1"
PLACES = {
    node: {"place_filesystem": "ext4", "place_device": "/dev/vda1"} for node in ("node1", "node2")
}
MOVIE = {"input_bytes": 100 * MB, "read_bytes": 300 * MB, "movie_frames": 80}


@pytest.fixture
def machine(machine):
    """A machine whose storage gives 200 MB/s, and 300 and 400 MB/s to two and four readers."""
    for node in ("node1", "node2"):
        cold = {"node": node, "amount": 200.0 * MB, "unit": "B", "cache": "verified-cold"}
        machine.test("particle_sequential_read_cold", *[1.0] * 6, **cold)
        for at_once, rate in ((1, 210), (2, 300), (4, 400)):
            machine.test("parallel_read_cold", *[200 / rate] * 6, at_once=at_once, **cold)
    return machine


@pytest.fixture
def run(new_run):
    return new_run()


def found(machine, run, storage=VDA, fetched=None, processes=1):
    tasks = run.tasks.with_columns(
        input_storage=pl.lit(storage, pl.String), storage_read_bytes=pl.lit(fetched, pl.Int64)
    )
    tests = machine.tests.with_columns(processes=pl.lit(processes, pl.Int64))
    return headroom(tests, tasks, run.spans, PLACES)


@pytest.mark.parametrize(
    ("workers", "test", "readers", "rate"),
    [
        (1, "particle_sequential_read_cold", 1, 2e8),
        (2, "parallel_read_cold", 2, 3e8),
        (3, "parallel_read_cold", 2, 3e8),
        (8, "parallel_read_cold", 4, 4e8),
    ],
)
def test_workers_are_set_beside_as_many_readers_as_were_measured(
    machine, run, workers, test, readers, rate
):
    run.trial("segment", [{"import": 1.0, "read": 2.0, "compute": 5.0}] * workers, **MOVIE)
    (row,) = found(machine, run).to_dicts()
    assert list(row) == list(HEADROOM_SCHEMA)
    assert (row["read_bytes"], row["read_s"], row["read_bytes_per_s"]) == (1e8, 2, 5e7)
    assert (row["readers"], row["test"], row["test_readers"]) == (workers, test, readers)
    assert row["storage_bytes_per_s"] == pytest.approx(rate)
    assert (row["share"], row["proved"]) == (pytest.approx(5e7 / rate), True)


def test_workers_that_read_at_once_share_the_time_and_the_movie(machine, run):
    """From 0 to 2 s, from 1 to 3 s, and from 10 to 11 s: 4 s with a reader, for one movie."""
    run.trial(
        "segment",
        [{"read": 2.0}, {"read": 2.0}, {"read": 1.0}],
        start_s=[0, 1, 10],
        **MOVIE,
    )
    (row,) = found(machine, run).to_dicts()
    assert (row["read_s"], row["read_bytes"], row["read_bytes_per_s"]) == (4, 1e8, 2.5e7)


def test_each_node_reads_its_share_of_the_frames(machine, run):
    run.trial("segment", [{"read": 1.0}] * 4, nodes=("node1", "node2"), **MOVIE)
    rows = found(machine, run).to_dicts()
    assert [(row["node"], row["readers"], row["read_bytes"]) for row in rows] == [
        ("node1", 2, 5e7),
        ("node2", 2, 5e7),
    ]


@pytest.mark.parametrize(
    ("fetched", "expected"), [(20 * MB, 2e7), (40 * MB, 3e7), (0, 3e7), (None, 3e7)]
)
def test_the_smallest_bound_of_what_was_read_counts(machine, run, fetched, expected):
    run.trial("segment", [{"read": 1.0}], **MOVIE | {"read_bytes": 30 * MB})
    assert found(machine, run, fetched=fetched)["read_bytes"].to_list() == [expected]


def test_numbers_are_medians_over_the_trials(machine, run):
    for block, read_s in enumerate((1.0, 2.0, 4.0)):
        run.trial("segment", [{"read": read_s}], block=block, **MOVIE)
    (row,) = found(machine, run).to_dicts()
    assert (row["trials"], row["read_s"], row["read_bytes_per_s"]) == (3, 2, 5e7)


def test_stages_come_in_their_order_and_by_number_of_workers(machine, run):
    for stage in ("segment", "contact"):
        run.curve(stage, lambda *_: {"read": 1.0}, (2, 1), 1, **MOVIE)
    assert found(machine, run).select("stage", "workers").rows() == [
        (stage, workers) for stage in ("segment", "contact") for workers in (1, 2)
    ]


@pytest.mark.parametrize(
    ("trial", "storage"),
    [
        *(({"cache_state": state}, VDA) for state in ("warm", "asis", "unsupported")),
        # Another filesystem, or an unknown one.
        *(({}, storage) for storage in ("nfs4 on remote", None)),
        # A node that was not measured.
        ({"nodes": ("node9",)}, VDA),
        ({"failed": ("w0",)}, VDA),
    ],
)
def test_nothing_is_said_where_the_storage_is_not_what_was_read_cold(machine, run, trial, storage):
    run.trial("segment", [{"read": 1.0}], **trial, **MOVIE)
    run.trial("contact", [{"compute": 1.0}], **MOVIE)
    assert found(machine, run, storage).is_empty()


def test_a_storage_that_was_measured_by_several_at_once_gave_each_a_part(machine, run):
    run.trial("segment", [{"read": 1.0}], **MOVIE)
    assert found(machine, run).height == 1
    assert found(machine, run, processes=2).is_empty()


def test_a_run_of_the_machine_alone_has_no_rows_and_a_doubt_on_either_side_is_a_doubt(machine, run):
    empty = found(machine, run)
    assert empty.is_empty()
    assert dict(empty.schema) == HEADROOM_SCHEMA
    run.trial("segment", [{"read": 1.0}], cache_state="evicted-unverified", **MOVIE)
    (row,) = found(machine, run).to_dicts()
    assert row["proved"] is False
