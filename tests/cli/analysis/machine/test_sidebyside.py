"""Tests of several machines beside each other."""

from pyscale.analysis.machine.beside import machines_side_by_side


def test_gpus_stand_beside_each_other_whatever_their_names(new):
    kernels = {"kind": "kernels", "stage": "kernels", "amount": 1.0, "unit": "flop"}
    base = new().test("fft", 9.0, **kernels).test("fft", 4.0, device="GTX 1080", **kernels)
    other = new().test("fft", 2.0, device="H200 #0", **kernels)
    other = other.test("fft", 3.0, device="H200 #1", **kernels)
    table = machines_side_by_side([base.side(), other.side()])
    assert table.select("side", "device", "own_device").rows() == [
        (0, "processor", None),
        (0, "GPU", "GTX 1080"),
        (1, "GPU", "H200 #0"),
        (1, "GPU 2", "H200 #1"),
    ]


def test_storage_comes_first_and_a_test_before_its_steps(new):
    machine = new().test("fft", 1.0, kind="kernels", stage="kernels")
    machine.test("write", 1.0, step="flush").test("write", 3.0)
    found = machines_side_by_side([machine.side()])
    assert found.select("kind", "test", "step").rows() == [
        ("storage", "write", None),
        ("storage", "write", "flush"),
        ("kernels", "fft", None),
    ]


def test_entries_are_named_only_where_several_did_one_test(new):
    machine = new().test("read_cold", 1.0)
    assert machines_side_by_side([machine.side()])["entry"].to_list() == [None]
    machine.test("read_cold", 2.0, stage="storage_of_gpfs")
    found = machines_side_by_side([machine.side()])
    assert found["entry"].to_list() == ["storage", "storage_of_gpfs"]
