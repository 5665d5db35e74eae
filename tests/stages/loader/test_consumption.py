import pytest
import torch

from pyscale_stages.errors import BadInput
from pyscale_stages.loader.consumption import measured_consumption
from refusals import refused

CPU = torch.device("cpu")


def test_a_model_takes_patches_of_any_channels_which_may_come_last():
    per_s, name = measured_consumption((2, 5, 16, 16), CPU, threads=1, seed=0)
    assert per_s > 0
    assert name.startswith("convolutional network of 4 layers")
    _, last = measured_consumption((2, 16, 16, 5), CPU, threads=1, seed=0)
    assert name == last


@pytest.mark.slow
def test_threads_are_as_before_afterwards():
    torch.set_num_threads(1)
    _, name = measured_consumption((2, 3, 16, 16), CPU, threads=2, seed=0)
    assert "with 2 threads" in name
    assert torch.get_num_threads() == 1


def test_a_volume_is_refused():
    with refused(BadInput):
        measured_consumption((2, 1, 8, 16, 16), CPU, threads=1, seed=0)
