"""Choice of a low-pass filter for every voxel by cross-validation between half maps.

The idea of non-uniform refinement's core (Punjani et al. 2020, doi:10.1038/s41592-020-00990-8):
one half, filtered, must predict the other, and the filter that predicts best in a voxel's
neighbourhood is the voxel's. Maps go to the device and errors come back for every filter, on
purpose: that is what makes this test one of the connection and of one core, too.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from pyscale_stages.kernels.particles import HalfMaps, half_maps, half_radii, shape_mask
from pyscale_stages.kernels.work import Bench, Judgement, StepClock, Work

Choice = npt.NDArray[np.int16]

ORDER = 4
"""Of the Butterworth filters."""
NEIGHBOURHOOD_PX = 3.0
"""Standard deviation of the Gaussian that weighs a voxel's neighbours."""


def prepare(bench: Bench) -> Work[Choice]:
    """Half maps on the host; whatever the device needs of them it is sent within the loop."""
    box_px = bench.params.map_px
    maps = half_maps(box_px, bench.seed)
    radius = torch.from_numpy(half_radii(box_px).astype(np.float32)).to(bench.device)
    # The transform of a Gaussian of standard deviation s is exp(-2 (pi s k / box)^2).
    neighbours = torch.exp(-2 * (torch.pi * NEIGHBOURHOOD_PX / box_px * radius) ** 2)
    n_bytes = sum(half.nbytes for half in maps.halves)
    shape = (box_px,) * 3

    def once(clock: StepClock) -> Choice:
        choice = np.zeros(shape, dtype=np.int16)
        least = np.full(shape, np.inf, dtype=np.float32)
        # From coarse to the finest, evenly.
        for index, cutoff in enumerate(np.linspace(2.0, box_px / 2, bench.params.cutoffs)):
            with clock.transfer("put_map_on_device", n_bytes):
                there = [torch.from_numpy(half).to(bench.device) for half in maps.halves]
            with clock.step("fft"):
                transforms = [torch.fft.rfftn(half) for half in there]
            with clock.step("filter"):
                gain = 1 / torch.sqrt(1 + (radius / float(cutoff)) ** (2 * ORDER))
                transforms = [transform * gain for transform in transforms]
            with clock.step("inverse_fft"):
                filtered = [torch.fft.irfftn(transform, s=shape) for transform in transforms]
            with clock.step("cross_validate"):
                error = (filtered[0] - there[1]) ** 2 + (filtered[1] - there[0]) ** 2
                local = torch.fft.irfftn(torch.fft.rfftn(error) * neighbours, s=shape)
            with clock.transfer("get_result", maps.signal.nbytes):
                on_host = local.cpu().numpy()
            with clock.step("choose"):
                better = on_host < least
                least[better] = on_host[better]
                choice[better] = index
        return choice

    return Work(once, lambda choice: judged(choice, maps))


def judged(choice: Choice, maps: HalfMaps) -> Judgement:
    """What must come out: the particle keeps finer detail than the noise around it."""
    near = shape_mask(maps.signal, reach_px=0, edge_px=1) == 1
    far = shape_mask(maps.signal, reach_px=4 * NEIGHBOURHOOD_PX, edge_px=1) == 0
    particle, solvent = float(choice[near].mean()), float(choice[far].mean())
    return Judgement(
        checksum=float(choice.mean()),
        error=solvent / particle if particle else float("inf"),
        tolerance=0.5,
        more={"mean_cutoff_index_particle": particle, "mean_cutoff_index_solvent": solvent},
    )
