"""The network and its weights."""

import pytest
import torch

from pyscale_stages.errors import BadInput
from pyscale_stages.hashing import sha256_of
from pyscale_stages.reconstruct.denoiser import network_of, weights_of
from pyscale_stages.reconstruct.params import ReconstructParams

CPU = torch.device("cpu")
SHAPE = (3, 32, 32)
IMAGE = torch.rand(1, *SHAPE, generator=torch.Generator().manual_seed(1))


def params(**given):
    return ReconstructParams(**({"channels": (4, 4, 8, 8), "blocks": 1} | given))


def denoised(given, seed):
    with torch.no_grad():
        return network_of(SHAPE, given, seed, CPU)(IMAGE, given.sigma)


@pytest.mark.slow
def test_random_weights_follow_from_the_seed_and_disturb_no_other_random_numbers():
    state = torch.get_rng_state()
    first, again, other = (denoised(params(), seed) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.shape == IMAGE.shape
    assert torch.equal(torch.get_rng_state(), state)
    assert weights_of(params()) == "random"


def test_a_volume_has_a_network_of_three_dimensions_that_learns_nothing():
    network = network_of((1, 32, 32, 32), params(), 0, CPU)
    with torch.no_grad():
        assert network(torch.zeros(1, 1, 32, 32, 32), 0.05).shape == (1, 1, 32, 32, 32)
    assert not network.training
    assert not any(weights.requires_grad for weights in network.parameters())


def test_weights_of_a_file_are_used_and_named_with_their_checksum(tmp_path):
    file = tmp_path / "drunet.pth"
    torch.save(network_of(SHAPE, params(), 7, CPU).state_dict(), file)
    given = params(weights=file)
    assert torch.equal(denoised(given, 0), denoised(params(), 7))
    assert weights_of(given) == f"drunet.pth ({sha256_of(file)[:12]})"


def test_a_file_of_weights_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"weights .*none\.pth cannot be read \(No such file"):
        weights_of(params(weights=tmp_path / "none.pth"))


@pytest.mark.parametrize("cut_bytes", [0, 20, 2000])
def test_a_file_that_is_no_file_of_torch_is_refused(tmp_path, cut_bytes):
    file = tmp_path / "drunet.pth"
    torch.save(network_of(SHAPE, params(), 0, CPU).state_dict(), file)
    file.write_bytes(file.read_bytes()[:cut_bytes])
    with pytest.raises(BadInput, match=r"drunet\.pth are not a readable torch file"):
        network_of(SHAPE, params(weights=file), 0, CPU)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (lambda: [1, 2], "hold a list, not a network's state"),
        (lambda: {"a": torch.zeros(1)}, "do not fit channels"),
        (lambda: {1: "a"}, "hold a dict, not a network's state"),
        (
            lambda: network_of(SHAPE, params(channels=(8, 8, 8, 8)), 0, CPU).state_dict(),
            "do not fit channels.*size mismatch for m_head.weight",
        ),
    ],
    ids=["list", "other names", "no tensors", "another size"],
)
def test_a_file_of_torch_that_holds_no_such_weights_is_refused(tmp_path, held, said):
    file = tmp_path / "held.pth"
    torch.save(held(), file)
    with pytest.raises(BadInput, match=said) as refused:
        network_of(SHAPE, params(weights=file), 0, CPU)
    assert "\n" not in str(refused.value)
