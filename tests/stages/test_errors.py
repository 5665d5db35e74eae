"""What libraries raise when a resource runs out, in the words of pyscale."""

import errno

import cv2
import numpy as np
import pytest
import torch

from pyscale_stages.errors import (
    EXIT_RESOURCE_EXHAUSTED,
    ResourceExhausted,
    as_stage_error,
    said_by,
)
from refusals import assert_held

CUDA_SAID = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 7.93 GiB of "
    "which 130.35 MiB is free. Including non-PyTorch memory, this process has 7.80 GiB memory in "
    "use. Of the allocated memory 7.50 GiB is allocated by PyTorch, and 47.06 MiB is reserved by "
    "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation "
    "for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html)"
)
"""As c10/cuda/CUDACachingAllocator.cpp puts it together."""
MPS_SAID = (
    "MPS backend out of memory (MPS allocated: 8.50 GiB, other allocations: 464.00 KiB, max "
    "allowed: 9.07 GiB). Tried to allocate 1024.00 MiB on private pool. Use "
    "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may "
    "cause system failure)."
)
"""As aten/src/ATen/mps/MPSAllocator.mm puts it together."""


def translated(error):
    """The sentence for an error, which must be one of a resource that ran out."""
    found = as_stage_error(error)
    assert isinstance(found, ResourceExhausted)
    assert found.exit_code == EXIT_RESOURCE_EXHAUSTED == 3
    assert "\n" not in str(found)
    return str(found)


def test_a_gpu_that_is_too_small_is_told_with_what_to_lower():
    for error in (
        torch.OutOfMemoryError(CUDA_SAID),
        torch.OutOfMemoryError("Out of memory."),
        # Memory can run out below torch too.
        torch.AcceleratorError("CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation'"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError(MPS_SAID),
    ):
        assert_held(translated(error))


def test_memory_of_the_machine_is_not_taken_for_that_of_a_gpu():
    with pytest.raises(RuntimeError) as of_torch:
        torch.empty(2**46)
    with pytest.raises(MemoryError) as of_numpy:
        np.empty(2**46)
    with pytest.raises(cv2.error) as of_opencv:
        cv2.resize(np.zeros((8, 8), np.float32), (2**23, 2**23))
    for raised in (of_torch, of_numpy, of_opencv):
        assert translated(raised.value).startswith("memory ran out (")
    assert_held(translated(MemoryError()))


def test_a_disk_that_takes_no_more_is_named():
    for error in (
        OSError(errno.ENOSPC, "No space left on device", "/runs/labels.tif"),
        # So numpy says it, of an array that goes into an open file.
        OSError("49152 requested and 24504 written"),
        OSError(errno.EFBIG, "File too large", "/runs/labels.tif"),
    ):
        assert_held(translated(error))


def test_what_an_error_says_is_repeated_where_it_helps_who_reads_it():
    for error in (
        ValueError("it gives no pixel size"),
        *(EOFError(), KeyError("77"), KeyError(77), KeyError("scale"), AssertionError("a < b")),
        TypeError("'int' object is not iterable"),
        AttributeError("'str' object has no attribute 'get'"),
        RuntimeError("[enforce fail at x.cc:1] broken. See here"),
    ):
        assert_held(f"it failed{said_by(error)}")
