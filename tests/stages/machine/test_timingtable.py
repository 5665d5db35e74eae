import json

import polars as pl
import pytest

from pyscale_stages.errors import BadInput
from pyscale_stages.machine import timingtable
from pyscale_stages.machine.timingtable import read_table, timings_table
from pyscale_stages.timing import Timing
from refusals import refused


def test_the_table_holds_the_timings_of_the_record(bench):
    result = bench.run("run")
    table = read_table(bench.folder / "out")
    back = [
        Timing(**{**row, "details": json.loads(row["details"])})
        for row in table.select(*Timing.model_fields).iter_rows(named=True)
    ]
    assert back == list(result.of(Timing))
    assert len(back) == result.counters.objects
    assert set(table["worker"]) == {0}
    assert set(table["device"]) == {None}, "a processor computed"


@pytest.mark.parametrize("content", [None, b"no table"])
def test_a_missing_or_damaged_table_is_told(tmp_path, content):
    if content is not None:
        (tmp_path / "timings.parquet").write_bytes(content)
    with refused(BadInput):
        read_table(tmp_path)


def test_another_table_is_told(tmp_path):
    pl.DataFrame({"worker": [0], "cell": [1]}).write_parquet(tmp_path / "timings.parquet")
    with refused(BadInput):
        read_table(tmp_path)


@pytest.fixture
def quick(bench_of):
    """A stage that does little: no other one is quicker."""
    return bench_of("kernels", tests=["allocation"])


@pytest.fixture
def outputs(quick):
    """Outputs of three workers."""
    return [
        quick.done("run", output=f"worker{n}", frames=(n, n + 1), movie_frames=3) for n in range(3)
    ]


def test_every_row_of_every_worker_is_kept_with_its_number(quick, outputs):
    # In any order.
    merged = quick.done("merge", *reversed(outputs), output="merged")
    table = pl.read_parquet(merged / "timings.parquet")
    for worker, folder in enumerate(outputs):
        part = pl.read_parquet(folder / "timings.parquet")
        assert table.filter(worker=worker).drop("worker").equals(part.drop("worker"))
    assert len(table) == 3 * len(part)
    window = json.loads((merged / "window.json").read_text())
    assert (window["frames"], window["movie_frames"]) == ([0, 3], 3)


@pytest.mark.parametrize(
    "wrong",
    [
        "twice",
        "params",
        "stage",
        "broken",
        "nothing",
    ],
)
def test_what_cannot_be_joined_is_refused(quick, bench_of, outputs, wrong):
    given = {"twice": [outputs[0], outputs[0]], "nothing": []}.get(wrong, outputs[:1])
    if wrong == "broken":
        (outputs[0] / "timings.parquet").write_bytes(b"no table")
    by = bench_of("decompress") if wrong == "stage" else quick
    by.refused("merge", *given, **({"particles": 8} if wrong == "params" else {}))


def test_two_runs_agree_whatever_their_times_and_with_another_seed_they_do_not(bench):
    one, two, other = (
        bench.done("run", output=name, seed=seed)
        for name, seed in (("one", 0), ("two", 0), ("other", 1))
    )
    found = bench.agreement(one, two)
    assert (found.same, found.identical, found.score) == (True, False, 1)
    assert not bench.agreement(one, other).same


def row(test="picking", repeat=0, **changed):
    details = {"checksum": 2.0, "error": 0.0, "tolerance": 0.1} | changed.pop("details", {})
    given = {"test": test, "repeat": repeat, "wall_s": 1.0, "details": details} | changed
    return Timing(**given)


@pytest.fixture
def same(monkeypatch):
    """Compare timings as those of two outputs."""

    def compare(*tables):
        monkeypatch.setattr(timingtable, "folders_to_check", lambda _task: (0, 1))
        monkeypatch.setattr(timingtable, "read_table", lambda which: timings_table(tables[which]))
        monkeypatch.setattr(timingtable, "same_bytes", lambda *_: False)
        found = timingtable.check(None)
        assert found.same == (found.score == 1)
        return found.same

    return compare


def test_times_do_not_count_and_checksums_do(same):
    reference = [row(), row(repeat=1)]
    assert same(reference, [row(wall_s=9.0), row(repeat=1, wall_s=0.1)])
    assert same(reference, [row(details={"checksum": 2.001})])
    assert not same(reference, [row(details={"checksum": 2.01})])
    assert not same(reference, [row(), row(repeat=1, details={"checksum": 2.01})])


def test_checksums_of_bytes_have_no_tolerance(same):
    def read(checksum, **changed):
        return Timing(
            **{"test": "read", "repeat": 0, "wall_s": 1.0, "details": {"checksum": checksum}}
            | changed
        )

    assert same([read(2.0**47)], [read(2.0**47, workers=4)])
    assert not same([read(2.0**47)], [read(2.0**47 + 1)])


def test_only_right_results_of_tests_that_both_outputs_ran_agree(same):
    assert not same([row()], [row(details={"error": 0.2})])
    assert not same([row()], [row(), row(repeat=1, details={"error": 0.2})])
    without_error = Timing(test="picking", repeat=0, wall_s=1.0, details={"tolerance": 0.1})
    assert not same([without_error], [without_error])
    absent = Timing(test="engine", repeat=0, wall_s=None, why_not="no memory")
    assert same([row(), absent], [row(), row("engine")])
    assert not same([absent], [absent])
    assert not same([row()], [row(), row("engine")])
