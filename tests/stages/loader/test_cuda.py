"""Copies to an NVIDIA GPU; where there is none, these are skipped and say so."""

from __future__ import annotations

import pytest
import torch

NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU works here")


@NO_GPU
@pytest.mark.parametrize("pin_memory", [False, True])
def test_each_copy_to_the_gpu_is_timed(load, pin_memory):
    result = load(device="cuda", to_device=True, pin_memory=pin_memory, num_workers=1)
    assert result.error is None, result.error
    assert result.loading is not None
    free = result.loading.free
    assert len(free.copies_s) == len(free.waits_s)
    assert 0 < sum(free.copies_s) < free.wall_s


@NO_GPU
def test_the_model_is_trained_on_the_gpu(load):
    result = load(device="cuda", consumer=True)
    assert result.error is None, result.error
    assert result.loading is not None
    assert torch.cuda.get_device_name(0) in result.loading.consumer
