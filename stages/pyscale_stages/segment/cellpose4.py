"""Runs Cellpose 4: its transformer (cpsam)."""

from __future__ import annotations

from pathlib import Path

import torch

from pyscale_stages.movie import Pixels
from pyscale_stages.segment.models import (
    Labels,
    Limits,
    cellpose_of_state,
    read_state,
    refuse_other_version,
)
from pyscale_stages.segment.params import SegmentParams

TILE_PX = {"sam_vitl": 256}
OTHER_TILE_PX = 384
"""Side of the tiles that Cellpose cuts a frame into, by the network's encoder."""


class Cellpose4Segmenter:
    """A network of Cellpose 4 with its weights on a device, in bfloat16 as is its default."""

    trained_diameter_px: float | None = None
    estimated_diameter_px: float | None = None

    def __init__(self, weights: Path, device: torch.device) -> None:
        from cellpose.models import CellposeModel

        # Cellpose takes its own default, from the network, for a file that it does not know.
        needed = cellpose_of_state(weights, read_state(weights, mapped=True))
        refuse_other_version(str(weights), needed, installed=4)
        self.model = CellposeModel(pretrained_model=str(weights), device=device)
        self.tile_px = TILE_PX.get(self.model.backbone, OTHER_TILE_PX)

    def segment(self, frame: Pixels, params: SegmentParams, limits: Limits | None = None) -> Labels:
        """Label a frame; see `Segmenter.segment`."""
        masks: Labels = self.model.eval(
            frame,
            batch_size=params.batch_size,
            normalize={"lowhigh": limits} if limits else params.normalise,
            diameter=params.diameter_px,
            cellprob_threshold=params.cellprob_threshold,
            flow_threshold=params.flow_threshold,
            min_size=params.min_size_px,
        )[0]
        return masks.reshape(frame.shape)
