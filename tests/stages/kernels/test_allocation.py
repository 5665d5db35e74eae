from pyscale_stages.kernels import allocation


def test_allocated_memory_is_written_to_both_ends(make_bench, done, clock):
    work, result = done(allocation.prepare, bench=make_bench(allocation_bytes=5000))
    assert result == (5000, 14)
    assert work.judge(result).right
    assert not work.judge((5000, 7)).right
    assert list(clock.steps) == ["allocate", "fill", "free"]
