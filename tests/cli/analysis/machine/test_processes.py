"""What each process found is a median of its own calls."""

from pyscale.analysis.machine.processes import process_medians, trial_medians


def test_calls_after_the_first_are_the_median_of_a_process(machine):
    told = [{"first_call": 1.0}, *[{"first_call": 0.0}] * 3]
    machine.test("fft", 9.0, 1.0, 2.0, 6.0, details=told, inside=1)
    machine.test("read_direct", None).test("read_cold", 2.0)
    found = process_medians(machine.timings)
    columns = ("test", "first_s", "wall_s", "calls")
    assert found.select(columns).rows() == [("fft", 9, 2, 3), ("read_cold", None, 2, 1)]


def test_processes_of_one_trial_are_one_row_of_it(machine):
    for task, wall_s in (("w0", 1.0), ("w1", 2.0)):
        machine.test("read_cold", wall_s, inside=1, task=task, amount=10.0, unit="B")
    assert process_medians(machine.timings)["wall_s"].to_list() == [1, 2]
    assert trial_medians(machine.timings).select("wall_s", "calls", "amount").rows() == [
        (1.5, 2, 10)
    ]


def test_the_state_of_which_least_was_proved_is_that_of_a_process(machine):
    for cache in ("verified-cold", "warm", "verified-cold"):
        machine.test("read_cold", 1.0, inside=1, cache=cache)
    assert process_medians(machine.timings)["cache"].to_list() == ["warm"]
