"""A device that does not work is refused in one sentence, from what torch really says of it."""

import pytest
import torch

from pyscale_stages.errors import MissingPart, ResourceExhausted
from pyscale_stages.torchdevice import require_working
from refusals import assert_held, refused

TOO_OLD = (
    "The NVIDIA driver on your system is too old (found version 12040). Please update your GPU "
    "driver by downloading and installing a new version from the URL: "
    "http://www.nvidia.com/Download/index.aspx Alternatively, go to: https://pytorch.org to "
    "install a PyTorch version that has been compiled with your version of the CUDA driver."
)
NO_DRIVER = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and "
    "installed a driver from http://www.nvidia.com/Download/index.aspx"
)
NO_KERNEL = (
    "CUDA error: no kernel image is available for execution on the device\n"
    "Search for `cudaErrorNoKernelImageForDevice' in https://docs.nvidia.com/cuda/\n"
    "CUDA kernel errors might be asynchronously reported at some other API call"
)
"""As c10/cuda/CUDAFunctions.cpp and CUDAException.cpp put them together."""


def refusal(name):
    """The sentence with which a device is refused."""
    with pytest.raises(MissingPart) as refused:
        require_working(torch.device(name))
    sentence = str(refused.value)
    assert sentence.startswith(f"the device {name.removesuffix(':0')} does not work here (")
    assert sentence.endswith(", or use --device cpu")
    assert "\n" not in sentence
    return sentence


@pytest.fixture
def saying(monkeypatch):
    """Let the first use of a device raise what it does elsewhere, on a CUDA build of torch."""

    def say(error):
        def ones(*_shape, **_options):
            raise error

        monkeypatch.setattr(torch, "ones", ones)

    monkeypatch.setattr(torch, "__version__", "2.13.0+cu130")
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"Quadro P{2000 + index}")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _index: (6, 1))
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: ["sm_75", "sm_90"])
    return say


@pytest.mark.skipif(torch.version.cuda is not None, reason="this torch is built for CUDA")
@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_torch_that_is_built_without_the_device_is_named(name):
    assert f"(torch {torch.__version__} is built without it)" in refusal(name)


def test_what_keeps_a_gpu_from_working_is_named_with_the_remedy(saying):
    for error in (
        # An old driver is told from the CUDA that it supports.
        RuntimeError(TOO_OLD),
        torch.AcceleratorError(
            "CUDA error: CUDA driver version is insufficient for CUDA runtime version\nSearch for"
        ),
        # Torch may have no kernels for the GPU, the node none, or others use it.
        torch.AcceleratorError(NO_KERNEL),
        RuntimeError(NO_DRIVER),
        RuntimeError("No CUDA GPUs are available"),
        torch.AcceleratorError(
            "CUDA error: CUDA-capable device(s) is/are busy or unavailable\nSearch for"
        ),
    ):
        saying(error)
        # The words before the remedy too, which are masked where torch itself says them.
        assert_held(refusal("cuda").partition(" here (")[2])
    saying(torch.AcceleratorError(NO_KERNEL))
    assert "has no kernels for Quadro P2001" in refusal("cuda:1")
    saying(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a"))
    with refused(ResourceExhausted):
        require_working(torch.device("cuda"))
