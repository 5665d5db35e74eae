import pytest

from pyscale_stages.kernels import memory

KIB, GIB = 1 << 10, 1 << 30


@pytest.mark.parametrize("direction", ["host_to_device", "device_to_host"])
def test_every_byte_arrives(make_bench, clock, direction):
    bench = make_bench()
    work = memory.prepare_transfer(bench, direction=direction, pinned=False)
    work.before()
    arrived = work.once(clock)
    assert work.judge(arrived).right
    assert list(clock.steps) == ["4KiB", "16KiB"]
    moved = sum(step.amount or 0 for step in clock.steps.values())
    assert moved == memory.moved_bytes(bench.params) == 64 * 20 * KIB
    # Each repeat must bring them anew.
    work.before()
    assert not work.judge(arrived).right
