import pytest

from pyscale_stages.machine import timingtable
from pyscale_stages.machine.timingtable import timings_table
from pyscale_stages.timing import Timing


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
