"""A device that does not work is refused in one sentence, from what torch really says of it."""

import pytest
import torch

from pyscale_stages.errors import MissingPart, ResourceExhausted
from pyscale_stages.torchdevice import require_working
from refusals import refused

TOO_OLD = (
    "The NVIDIA driver on your system is too old (found version 12040). Please update your GPU "
    "driver by downloading and installing a new version from the URL"
)
NO_KERNEL = (
    "CUDA error: no kernel image is available for execution on the device\n"
    "Search for `cudaErrorNoKernelImageForDevice' in https://docs.nvidia.com/cuda/"
)
"""As c10/cuda/CUDAFunctions.cpp and CUDAException.cpp put them together."""


def refusal(name):
    """The sentence with which a device is refused."""
    with pytest.raises(MissingPart) as refused:
        require_working(torch.device(name))
    return str(refused.value)


@pytest.mark.skipif(torch.version.cuda is not None, reason="this torch is built for CUDA")
@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_torch_that_is_built_without_the_device_is_named(name):
    assert f"(torch {torch.__version__} is built without it)" in refusal(name)


def test_what_keeps_a_gpu_from_working_is_said_in_the_words_of_torch_with_the_remedy(monkeypatch):
    raised = []

    def ones(*_shape, **_options):
        raise raised[-1]

    monkeypatch.setattr(torch, "ones", ones)
    for error, said in (
        (RuntimeError(TOO_OLD), "The NVIDIA driver on your system is too old"),
        (torch.AcceleratorError(NO_KERNEL), "no kernel image is available"),
    ):
        raised.append(error)
        sentence = refusal("cuda")
        assert sentence.startswith("the device cuda does not work here (")
        assert said in sentence
        assert "\n" not in sentence
    assert refusal("cuda:1").startswith("the device cuda:1 does")
    said = "CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a"
    raised.append(torch.OutOfMemoryError(said))
    with refused(ResourceExhausted):
        require_working(torch.device("cuda"))
