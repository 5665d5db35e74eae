"""Weights of Cellpose 4, a few kilobytes long, with which it draws a grid of cells."""

TOKEN_PX = 8
"""Side of the square that the network's readout draws from one place of its encoder."""

MAKE_WEIGHTS = """
import sys
import numpy as np
import torch
from pyscale_stages.segment.models import import_cellpose

import_cellpose(4)
from cellpose.vit import CPSAM

with torch.device("meta"):
    shapes = {name: value.shape for name, value in CPSAM().state_dict().items()}
# One stored number stands for a whole tensor of zeros: the file is small.
state = {name: torch.zeros(1).expand(shape) for name, shape in shapes.items()}
side = torch.arange(8.0)
down, right = torch.meshgrid(3.5 - side, 3.5 - side, indexing="ij")
length = torch.hypot(down, right)
inside = (down.abs() < 3) & (right.abs() < 3)
drawn = torch.stack([5 * down / length, 5 * right / length, torch.where(inside, 6.0, -6.0)])
state["W2"] = torch.eye(3 * 64).reshape(3 * 64, 3, 8, 8)
state["out.bias"] = drawn.reshape(-1)
torch.save(state, sys.argv[1])
"""
"""A network of Cellpose 4 whose readout draws one cell of 6 x 6 pixels in every token."""
