"""A device that does not work is refused in one sentence, from what torch really says of it."""

import pytest
import torch

from pyscale_stages.errors import MissingPart, ResourceExhausted
from pyscale_stages.torchdevice import require_working
from refusals import refused


def refusal(name):
    """The sentence with which a device is refused."""
    with pytest.raises(MissingPart) as refused:
        require_working(torch.device(name))
    sentence = str(refused.value)
    assert sentence.startswith(f"the device {name.removesuffix(':0')} does not work here (")
    assert sentence.endswith(", or use --device cpu")
    assert "\n" not in sentence
    return sentence


@pytest.mark.skipif(torch.version.cuda is not None, reason="this torch is built for CUDA")
def test_a_torch_that_is_built_without_the_device_is_named():
    assert f"torch {torch.__version__} is built for CPUs" in refusal("cuda")


def test_what_keeps_a_gpu_from_working_is_named_in_torchs_own_words(monkeypatch):
    said = []

    def ones(*_shape, **_options):
        raise said[-1]

    monkeypatch.setattr(torch, "ones", ones)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    said.append(
        torch.AcceleratorError(
            "CUDA error: no kernel image is available for execution on the device\nSearch for"
        )
    )
    assert "(CUDA error: no kernel image is available" in refusal("cuda:1")
    assert "is built for CUDA 13.0" in refusal("cuda:0")
    said.append(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0"))
    with refused(ResourceExhausted):
        require_working(torch.device("cuda"))
