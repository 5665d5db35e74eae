"""The same tests on an NVIDIA GPU; where there is none, these are skipped and say so."""

from functools import partial

import pytest
import torch

from pyscale_stages.kernels.run import KERNELS, names_of
from pyscale_stages.kernels.work import StepClock
from pyscale_stages.timing import Timing
from pyscale_stages.torchdevice import wait_for

NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU works here")


@NO_GPU
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_a_gpu_computes_what_a_processor_does(make_bench, kernel):
    checksums = []
    for name in ("cuda:0", "cpu"):
        bench = make_bench(device=name)
        if kernel.family == "transfers" and name == "cpu":
            continue
        clock = StepClock(partial(wait_for, bench.device), own_memory=name != "cpu")
        work = kernel.prepare(bench)
        work.before()
        judgement = work.judge(work.once(clock))
        assert judgement.right
        checksums.append(judgement.checksum)
    assert checksums == pytest.approx([checksums[0]] * len(checksums), rel=1e-3)


@NO_GPU
def test_every_gpu_has_its_own_rows(kernels):
    result = kernels.run("run", device="cuda")
    assert result.error is None, result.error
    assert result.warnings == ()
    assert None not in {timing.device for timing in result.of(Timing)}
    assert len({timing.device for timing in result.of(Timing)}) == torch.cuda.device_count()
    assert [t.test for t in result.of(Timing) if t.wall_s is None] == []
    assert result.counters.gpu_own_peak_bytes


def test_equal_gpus_are_told_apart_by_their_numbers(monkeypatch):
    names = {0: "NVIDIA A100", 1: "NVIDIA T4", 2: "NVIDIA A100"}
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: names[device.index])
    gpus = [torch.device("cuda", index) for index in names]
    assert names_of(gpus) == ["NVIDIA A100 #0", "NVIDIA T4", "NVIDIA A100 #2"]
    assert names_of(gpus[:2]) == ["NVIDIA A100", "NVIDIA T4"]
    assert names_of([torch.device("cpu")]) == [None]


@pytest.mark.skipif(torch.cuda.is_available(), reason="an NVIDIA GPU works here")
def test_a_device_that_is_not_there_is_refused_in_one_sentence(kernels):
    kernels.refused("run", device="cuda")
