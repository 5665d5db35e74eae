import io

import pytest
import torch

from pyscale_stages.errors import BadInput
from pyscale_stages.hashing import sha256_of
from pyscale_stages.reconstruct.denoiser import network_of, weights_of
from pyscale_stages.reconstruct.stage import ReconstructParams
from refusals import refused

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
    with refused(BadInput):
        weights_of(params(weights=tmp_path / "none.pth"))


def state(**given):
    return network_of(SHAPE, params(**given), 0, CPU).state_dict()


def whole(held):
    file = io.BytesIO()
    torch.save(held, file)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        lambda: b"",
        lambda: whole(state())[:20],
        lambda: whole(state())[:2000],
        lambda: whole([1, 2]),
        lambda: whole({"a": torch.zeros(1)}),
        lambda: whole({1: "a"}),
        lambda: whole(state(channels=(8, 8, 8, 8))),
    ],
    ids=["empty", "cut", "cut later", "list", "other names", "no tensors", "another size"],
)
def test_a_file_that_holds_no_such_weights_is_refused(tmp_path, content):
    file = tmp_path / "drunet.pth"
    file.write_bytes(content())
    with refused(BadInput) as raised:
        network_of(SHAPE, params(weights=file), 0, CPU)
    assert "\n" not in str(raised.value)
