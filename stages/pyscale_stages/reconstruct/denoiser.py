"""The denoiser DRUNet: with the weights of a file, or random ones that all ranks share."""

from __future__ import annotations

import math
from pathlib import Path

import torch

from pyscale_stages.errors import BadInput, short
from pyscale_stages.hashing import sha256_of
from pyscale_stages.reconstruct.stage import ReconstructParams
from pyscale_stages.torchdevice import read_weights

RANDOM = "random"
_HELD = 10
"""Images of the first scale's channels that the network holds at once: 6 to 10 where measured, in
two and three dimensions."""


def weights_of(params: ReconstructParams) -> str:
    """Name the weights: random, or the file and the beginning of its SHA-256."""
    if params.weights is None:
        return RANDOM
    try:
        return f"{params.weights.name} ({sha256_of(params.weights)[:12]})"
    except OSError as error:
        raise BadInput(
            f"the weights {params.weights} cannot be read ({error.strerror}): name a file that "
            "every node sees, or leave weights out"
        ) from error


def network_of(
    shape: tuple[int, ...], params: ReconstructParams, seed: int, device: torch.device
) -> torch.nn.Module:
    """Build the network for an image, ready to denoise and never to be trained."""
    from deepinv.models import DRUNet

    channels, *lengths = shape
    # The weights are made on the CPU, so no GPU's generator has to be put back.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: torch.nn.Module = DRUNet(
            in_channels=channels,
            out_channels=channels,
            nc=params.channels,
            nb=params.blocks,
            pretrained=None,
            dim=len(lengths),
        )
    if params.weights is not None:
        _fill(network, params.weights, params)
    # Out of training it takes an image as it is; the engine would else exchange gradients.
    network.eval()
    network.requires_grad_(False)
    return network.to(device)


def memory_needed_bytes(shape: tuple[int, ...], params: ReconstructParams) -> int:
    """About how much memory the network takes to denoise an image of this shape at once."""
    bytes_per_value = 4
    return _HELD * params.channels[0] * math.prod(shape[1:]) * bytes_per_value


def _fill(network: torch.nn.Module, file: Path, params: ReconstructParams) -> None:
    """Give the network the weights of a file, which must be all of its own."""
    weights = read_weights(file, "name the state of a DRUNet that torch.save wrote")
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        # The first line names the network, the next the first thing that does not fit.
        why = str(error).splitlines()[1:2] or [str(error)]
        raise BadInput(
            f"the weights {file} do not fit channels {list(params.channels)} and blocks "
            f"{params.blocks} for {params.problem} ({short(why[0])}): name weights of this "
            "network, or set its channels and blocks"
        ) from error
