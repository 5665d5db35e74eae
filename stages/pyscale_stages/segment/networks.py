"""Runs Cellpose 3, a residual U-Net (CPnet) of any width, and Cellpose 4, a transformer (cpsam)."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import pad

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Pixels
from pyscale_stages.segment.models import (
    Labels,
    Limits,
    State,
    cellpose_of_state,
    read_state,
    refuse_other_version,
)
from pyscale_stages.segment.params import SegmentParams
from pyscale_stages.segment.sizemodel import STYLE_WIDTH, load_size_model

IN_IMAGE = Path("/opt/pyscale/numba")
"""Where an image has them from its build."""

INPUT_CHANNELS = 2
"""The cells' channel and the nuclei's; a frame of one channel leaves the second at zero."""
OUTPUTS = 3
"""Flow along Y, flow along X, and the cell's logit."""
TILE_PX_3 = 224
"""Side of the tiles that Cellpose 3 cuts a larger frame into."""
TILE_PX_4 = {"sam_vitl": 256}
OTHER_TILE_PX_4 = 384
"""The same of Cellpose 4, by the network's encoder."""


class Segmenter:
    """A network of Cellpose with its weights on a device, which labels the cells of one frame."""

    model: Any
    tile_px: int
    """Side of the tiles that the network sees; a smaller frame is padded."""
    trained_diameter_px: float | None = None
    """Diameter of the objects that it was trained on; None where these were of many sizes."""
    estimated_diameter_px: float | None = None
    """Diameter that it estimated in the last call; None where it estimated none."""

    def segment(self, frame: Pixels, params: SegmentParams, limits: Limits | None = None) -> Labels:
        """Label a frame.

        `frame`: one channel, shape (Y, X). `limits`: values that become 0 and 1; None takes the
        frame's own percentiles, where it is scaled. Returns: shape (Y, X), uint16 or uint32; 0 is
        background, cells are 1 to their number.
        """
        raise NotImplementedError

    def _labels(
        self, frame: Pixels, params: SegmentParams, diameter_px: float | None, **options: Any
    ) -> Labels:
        masks: Labels = self.model.eval(
            frame,
            batch_size=self._batch_size(params),
            diameter=diameter_px,
            cellprob_threshold=params.cellprob_threshold,
            flow_threshold=params.flow_threshold,
            min_size=params.min_size_px,
            **options,
        )[0]
        return masks.reshape(frame.shape)

    def _batch_size(self, params: SegmentParams) -> int:
        return params.batch_size or (1 if self.model.device.type == "cpu" else 8)


class Cellpose3Segmenter(Segmenter):
    """A network of Cellpose 3."""

    tile_px = TILE_PX_3

    def __init__(
        self, weights: Path, device: torch.device, size_weights: Path | None = None
    ) -> None:
        from cellpose.models import CellposeModel

        state = read_state(weights)
        refuse_other_version(str(weights), cellpose_of_state(weights, state), installed=3)
        self.model = CellposeModel(pretrained_model=False, device=device)
        net = build_net(widths_of(weights, state))
        _fill(net, state, weights)
        if device.type == "cpu":
            # The layout that oneDNN computes in, so that no layer rearranges what it gets; the
            # tensors of its own, which Cellpose asks for, are slower.
            net = net.to(memory_format=torch.channels_last)
        self.model.net = net.to(device)
        self.model.diam_mean = float(net.diam_mean.item())
        self.model.diam_labels = float(net.diam_labels.item())
        self.trained_diameter_px = self.model.diam_labels
        self.size_model = load_size_model(size_weights, self.model) if size_weights else None

    def segment(self, frame: Pixels, params: SegmentParams, limits: Limits | None = None) -> Labels:
        """Label a frame; see `Segmenter.segment`."""
        # The second channel is empty, and stays so.
        seen = {
            "channels": [0, 0],
            "normalize": {"lowhigh": [limits, (0, 1)]} if limits else params.normalise,
        }
        diameter_px = params.diameter_px
        if params.estimate_diameter and self.size_model is not None:
            estimate, _from_style = self.size_model.eval(
                frame, batch_size=self._batch_size(params), **seen
            )
            diameter_px = self.estimated_diameter_px = float(estimate)
        tile_px = params.tile_px or self.tile_px
        return self._labels(frame, params, diameter_px, bsize=tile_px, **seen)


class Cellpose4Segmenter(Segmenter):
    """A network of Cellpose 4, in bfloat16 as is its default."""

    def __init__(self, weights: Path, device: torch.device) -> None:
        from cellpose.models import CellposeModel

        # Cellpose takes its own default, from the network, for a file that it does not know.
        needed = cellpose_of_state(weights, read_state(weights, mapped=True))
        refuse_other_version(str(weights), needed, installed=4)
        self.model = CellposeModel(pretrained_model=str(weights), device=device)
        self.tile_px = TILE_PX_4.get(self.model.backbone, OTHER_TILE_PX_4)

    def segment(self, frame: Pixels, params: SegmentParams, limits: Limits | None = None) -> Labels:
        """Label a frame; see `Segmenter.segment`."""
        normalise = {"lowhigh": limits} if limits else params.normalise
        return self._labels(frame, params, params.diameter_px, normalize=normalise)


def build_net(widths: list[int]) -> Any:
    """Build a CPnet, of the channels of input and levels, whose last level may be narrow."""
    from cellpose.resnet_torch import CPnet

    net = CPnet(list(widths), nout=OUTPUTS, sz=3, mkldnn=False, max_pool=True)
    missing_width = STYLE_WIDTH - widths[-1]

    def widen_style(_module: Any, _inputs: Any, outputs: Any) -> Any:
        flows, style, levels = outputs
        return flows, pad(style, (0, missing_width)), levels

    if missing_width:
        net.register_forward_hook(widen_style)
    return net


def widths_of(path: Path, state: State) -> list[int]:
    """Channels of the input and of each level, read from the shapes of the weights."""
    projections: list[torch.Tensor] = []
    for level in count():
        found = state.get(f"downsample.down.res_down_{level}.proj.1.weight")
        if found is None:
            break
        projections.append(found)
    if not projections or projections[0].shape[1] != INPUT_CHANNELS:
        raise BadInput(
            f"{path} holds no network for {INPUT_CHANNELS} input channels: name weights of "
            "Cellpose 3 that were trained with its usual channels"
        )
    return [INPUT_CHANNELS, *(int(weight.shape[0]) for weight in projections)]


def _fill(net: Any, state: State, path: Path) -> None:
    try:
        missing, unexpected = net.load_state_dict(state, strict=False)
    except RuntimeError as error:
        raise BadInput(
            f"the weights in {path} do not fit together as one network: copy the file again"
        ) from error
    # Weights of Cellpose 2 lack the diameters; the network then keeps its own 30 px.
    absent = sorted(set(missing) - {"diam_mean", "diam_labels"}) + list(unexpected)
    if absent:
        raise BadInput(f"{path} is not a network of Cellpose 3 ({absent[0]}): name another file")


@contextmanager
def kept_by_numba() -> Iterator[None]:
    """Have numba keep all that is compiled while modules are imported.

    Three functions of `cellpose.dynamics` have signatures and no cache: compiling them takes more
    than half of the CPU time of the import, in every task.
    """
    _take_from_image()
    import numba

    njit = numba.njit

    def keeping(*arguments: Any, **options: Any) -> Any:
        return njit(*arguments, **({"cache": True} | options))

    numba.njit = keeping
    try:
        yield
    finally:
        numba.njit = njit


def _take_from_image() -> None:
    """Copy what the image has into a folder of this process: numba must be able to write there."""
    if os.environ.get("NUMBA_CACHE_DIR") == str(IN_IMAGE) or not IN_IMAGE.is_dir():
        return
    folder = tempfile.TemporaryDirectory(prefix="pyscale-numba-")
    atexit.register(folder.cleanup)
    shutil.copytree(IN_IMAGE, folder.name, dirs_exist_ok=True)
    os.environ["NUMBA_CACHE_DIR"] = folder.name
