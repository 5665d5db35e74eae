from pyscale_stages.kernels.agreement import compared
from pyscale_stages.machine.timingtable import timings_table
from pyscale_stages.timing import Timing


def row(test="allocation", repeat=0, **changed):
    details = {"checksum": 2.0, "error": 0.0, "tolerance": 0.1} | changed.pop("details", {})
    given = {"test": test, "repeat": repeat, "wall_s": 1.0, "details": details} | changed
    return Timing(**given)


def same(one, two):
    return compared(timings_table(one), timings_table(two))[0] == 1


def test_times_do_not_count_and_checksums_do():
    reference = [row(), row(repeat=1)]
    assert same(reference, [row(wall_s=9.0), row(repeat=1, wall_s=0.1)])
    assert same(reference, [row(details={"checksum": 2.001})])
    assert not same(reference, [row(details={"checksum": 2.01})])
    assert not same(reference, [row(), row(repeat=1, details={"checksum": 2.01})])


def test_only_right_results_of_tests_that_apply_to_both_devices_agree():
    assert not same([row()], [row(details={"error": 0.2})])
    assert not same([row()], [row(), row(repeat=1, details={"error": 0.2})])
    without_error = Timing(test="allocation", repeat=0, wall_s=1.0)
    assert not same([without_error], [without_error])
    absent = row("picking", wall_s=None, why_not="not applicable: no kernel", details={})
    assert same([row(), absent], [row(), row("picking")])
    assert not same([absent], [absent])
    failed = row("picking", wall_s=None, why_not="memory ran out", details={})
    assert not same([row(), failed], [row(), row("picking")])
    assert not same([row()], [row(), row("picking")])
