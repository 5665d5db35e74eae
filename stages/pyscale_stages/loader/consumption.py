"""Patches that training takes in a second, by a small model where the user states no rate."""

from __future__ import annotations

import statistics
import time

import torch
from torch import nn

from pyscale_stages.errors import BadInput
from pyscale_stages.torchdevice import name_of, wait_for

STATED = "stated by the user"
# The first steps also choose kernels and allocate memory.
WARM_UP_STEPS = 3
STEPS = 10
ENOUGH_S = 20.0
"""After which no further step is begun, where three have been timed."""
LEAST_STEPS = 3
WIDTHS = (32, 64, 128, 256)
CLASSES = 10


def measured_consumption(
    shape: tuple[int, ...], device: torch.device, threads: int, seed: int
) -> tuple[float, str]:
    """Train a small convolutional network on made-up patches that already lie on the device."""
    # The rate is from the median step, in single precision: no loader and no copy is in it.
    if len(shape) != 4:
        raise BadInput(
            "the model of consumer takes patches of channels, height and width, but these are of "
            f"shape {shape[1:]}: set consumes_per_s to the rate of your own training instead"
        )
    channels_last = shape[3] < shape[1]
    n_patches, channels, *sides = (shape[0], shape[3], *shape[1:3]) if channels_last else shape
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        torch.manual_seed(seed)
        model = _small_model(channels).to(device)
        patches = torch.rand(n_patches, channels, *sides, device=device)
        labels = torch.randint(CLASSES, (n_patches,), device=device)
        step_s = _median_step_s(model, patches, labels)
    finally:
        torch.set_num_threads(before)
    parameters = sum(part.numel() for part in model.parameters())
    by = f" with {threads} thread{'s' if threads > 1 else ''}" if device.type == "cpu" else ""
    name = (
        f"convolutional network of {len(WIDTHS)} layers and {parameters} parameters, trained in "
        f"float32 with batches of {n_patches} on {name_of(device)}{by}"
    )
    return n_patches / step_s, name


def _small_model(channels: int) -> torch.nn.Module:
    layers: list[nn.Module] = []
    for wide in WIDTHS:
        layers += [
            nn.Conv2d(channels, wide, kernel_size=3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU(inplace=True),
        ]
        channels = wide
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES)
    )


def _median_step_s(model: torch.nn.Module, patches: torch.Tensor, labels: torch.Tensor) -> float:
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    steps_s: list[float] = []
    begin_s = time.perf_counter()
    for index in range(WARM_UP_STEPS + STEPS):
        start_s = time.perf_counter()
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(patches), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        # A GPU takes the work and answers before it has computed.
        wait_for(patches.device)
        end_s = time.perf_counter()
        if index >= WARM_UP_STEPS:
            steps_s.append(end_s - start_s)
        if len(steps_s) >= LEAST_STEPS and end_s - begin_s > ENOUGH_S:
            break
    return statistics.median(steps_s)
