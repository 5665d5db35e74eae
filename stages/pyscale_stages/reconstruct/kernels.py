"""Blurs of the colour problem: Gaussians that are longer one way than the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

LENGTHS_PX = (2.0, 4.0)
"""Standard deviations along a blur, from the first to the last."""
WIDTHS_PX = (1.2, 0.6)
"""Standard deviations across it: the longest is the narrowest."""
KERNEL_PX = 25
"""Holds three standard deviations of the longest to each side."""


def anisotropic_gaussian(index: int, count: int) -> torch.Tensor:
    """Make one blur of several, whose directions are spread evenly over half a turn.

    Parameters
    ----------
    index : int
        Which, from 0.
    count : int
        How many there are.

    Returns
    -------
    Tensor of float32, (1, 1, KERNEL_PX, KERNEL_PX)
        Its sum is 1, so that no blur makes an image brighter.
    """
    import torch

    share = index / max(1, count - 1)
    along, across = (first + share * (last - first) for first, last in (LENGTHS_PX, WIDTHS_PX))
    angle = np.pi * index / count
    off = np.arange(KERNEL_PX) - KERNEL_PX // 2
    u = np.cos(angle) * off[None, :] + np.sin(angle) * off[:, None]
    v = np.cos(angle) * off[:, None] - np.sin(angle) * off[None, :]
    kernel = np.exp(-0.5 * ((u / along) ** 2 + (v / across) ** 2))
    return torch.from_numpy((kernel / kernel.sum()).astype(np.float32)[None, None])
