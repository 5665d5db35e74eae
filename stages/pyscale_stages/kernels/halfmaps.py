"""Half maps: their Fourier shell correlation (FSC) inside masks, and a filter for every voxel.

The correlation of shell k is Re sum(A B*) / sqrt(sum |A|^2 sum |B|^2) over its coefficients
(Harauz and van Heel 1986). Noise substitution estimates how much of it the mask itself makes:
phases are randomised beyond a shell, and FSC = (FSC_t - FSC_n) / (1 - FSC_n) from there on
(Chen et al. 2013, doi:10.1016/j.ultramic.2013.06.004).

The filter is chosen by cross-validation, the idea of non-uniform refinement's core (Punjani et al.
2020, doi:10.1038/s41592-020-00990-8): one half, filtered, must predict the other, and the filter
that predicts best in a voxel's neighbourhood is the voxel's. Maps go to the device and errors come
back for every filter, on purpose: that is what makes this test one of the connection and of one
core, too.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.fft import rfftn

from pyscale_stages.kernels.particles import (
    HalfMaps,
    half_maps,
    half_radii,
    shape_mask,
    spherical_mask,
)
from pyscale_stages.kernels.work import Bench, Judgement, StepClock, Work

Curve = npt.NDArray[np.float64]

Mask = Literal["spherical", "loose", "tight"]
PROPERTY_TOLERANCE = 0.05
"""Of the mean distance from the expected curve: shells of few coefficients scatter."""
RANDOMISED_BELOW = 0.8
"""Phases are randomised from the shell on in which the FSC of the whole maps falls below."""


def mask_of(kind: Mask, maps: HalfMaps) -> npt.NDArray[np.float32]:
    """Mask of a kind, from the known signal."""
    box_px = maps.signal.shape[0]
    if kind == "spherical":
        return spherical_mask(box_px)
    reach, edge = (box_px / 12, box_px / 10) if kind == "loose" else (box_px / 32, box_px / 16)
    return shape_mask(maps.signal, reach, edge)


def shells_of(box_px: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Shell and weight of each coefficient of a real map's half transform, as (z, y, x)."""
    # What lies beyond the last whole shell is put into shell box_px // 2, which is not reported.
    # Each coefficient stands for its conjugate too, but those with x = 0 and x = box_px / 2.
    shells = np.minimum(np.rint(half_radii(box_px)), box_px // 2).astype(np.int64)
    weights = np.full(shells.shape, 2, dtype=np.float32)
    weights[..., [0, -1]] = 1
    return shells, weights


def expected_curve(maps: HalfMaps, mask: npt.NDArray[np.float32]) -> Curve:
    """FSC that the signal and the noise's deviation let expect, shell by shell."""
    # White noise of variance s^2 has the power s^2 sum(mask^2) in every coefficient; the signal's
    # power P is that of the masked signal itself: P / (P + s^2 sum(mask^2)).
    box_px = mask.shape[0]
    shells, weights = shells_of(box_px)
    power = weights * np.abs(rfftn(maps.signal * mask)) ** 2
    totals, counts = (
        np.bincount(shells.ravel(), values.ravel(), box_px // 2 + 1)[: box_px // 2]
        for values in (power, weights)
    )
    of_signal = totals / counts
    of_noise = maps.noise_std**2 * np.sum(mask**2, dtype=np.float64)
    return np.asarray(of_signal / (of_signal + of_noise))


def prepare_fsc(bench: Bench, *, mask: Mask, noise_substituted: bool = False) -> Work[Curve]:
    """Half maps and mask on the host; each repeat starts with the transfer of the maps."""
    box_px = bench.params.map_px
    maps = half_maps(box_px, bench.seed)
    of_host = mask_of(mask, maps)
    shells, weights = shells_of(box_px)
    shells_there = torch.from_numpy(shells.ravel()).to(bench.device)
    weights_there = torch.from_numpy(weights).to(bench.device)
    mask_there = torch.from_numpy(of_host).to(bench.device)
    phases = None
    if noise_substituted:
        # Drawn on the host, to be alike on every device.
        angles = bench.rng("fsc_phases").uniform(0, 2 * np.pi, (2, *shells.shape))
        phases = torch.from_numpy(angles.astype(np.float32)).to(bench.device)
    expected = expected_curve(maps, of_host)

    def correlation(first: torch.Tensor, second: torch.Tensor, clock: StepClock) -> torch.Tensor:
        with clock.step("shells"):
            return shell_correlation(first, second, shells_there, weights_there)

    def correlation_masked(halves: list[torch.Tensor], clock: StepClock) -> torch.Tensor:
        with clock.step("apply_mask"):
            masked = [half * mask_there for half in halves]
        with clock.step("fft"):
            first, second = (torch.fft.rfftn(half) for half in masked)
        return correlation(first, second, clock)

    def once(clock: StepClock) -> Curve:
        with clock.transfer("put_map_on_device", sum(half.nbytes for half in maps.halves)):
            there = [torch.from_numpy(half).to(bench.device) for half in maps.halves]
        curve = correlation_masked(there, clock)
        if phases is None:
            with clock.step("get_result"):
                return fetched(curve, box_px)
        with clock.step("fft"):
            whole = [torch.fft.rfftn(half) for half in there]
        of_whole = correlation(whole[0], whole[1], clock)
        with clock.step("randomise_phases"):
            start = first_below(fetched(of_whole, box_px), RANDOMISED_BELOW)
            beyond = (shells_there >= start).reshape(shells.shape)
            noise = [
                torch.where(beyond, torch.polar(half.abs(), phase), half)
                for half, phase in zip(whole, phases, strict=True)
            ]
        with clock.step("fft"):
            back = [torch.fft.irfftn(half, s=(box_px,) * 3) for half in noise]
        of_noise = correlation_masked(back, clock)
        with clock.step("get_result"):
            return corrected(fetched(curve, box_px), fetched(of_noise, box_px), start)

    def judge(curve: Curve) -> Judgement:
        return Judgement(
            checksum=float(np.sqrt(np.mean(curve**2))),
            # Shell 0 is a single coefficient, whose correlation is 1 or -1.
            error=float(np.abs(curve - expected)[1:].mean()),
            tolerance=PROPERTY_TOLERANCE,
            more={"shell_at_0.143": float(first_below(curve, 0.143))},
        )

    return Work(once, judge)


def shell_correlation(
    first: torch.Tensor, second: torch.Tensor, shells: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """FSC of two half transforms, where the device is; the last value is of the corners."""
    n_shells = first.shape[0] // 2 + 1
    products = (
        first.real * second.real + first.imag * second.imag,
        first.real**2 + first.imag**2,
        second.real**2 + second.imag**2,
    )
    cross, of_first, of_second = (
        torch.zeros(n_shells, device=first.device).index_add_(
            0, shells, (product * weights).reshape(-1)
        )
        for product in products
    )
    return cross / torch.sqrt(of_first * of_second)


def fetched(curve: torch.Tensor, box_px: int) -> Curve:
    """The whole shells of a curve, on the host."""
    values: Any = curve.cpu().numpy()[: box_px // 2]
    return np.asarray(values.astype("float64"))


def first_below(curve: Curve, threshold: float) -> int:
    """First shell in which a curve is below a threshold; the number of shells if in none."""
    below = np.flatnonzero(curve < threshold)
    return int(below[0]) if below.size else len(curve)


def corrected(of_maps: Curve, of_noise: Curve, start: int) -> Curve:
    """The FSC without what the mask makes of noise, from the randomised shells on."""
    curve = of_maps.copy()
    curve[start:] = (of_maps[start:] - of_noise[start:]) / (1 - of_noise[start:])
    return curve


Choice = npt.NDArray[np.int16]

ORDER = 4
"""Of the Butterworth filters."""
NEIGHBOURHOOD_PX = 3.0
"""Standard deviation of the Gaussian that weighs a voxel's neighbours."""


def prepare_filters(bench: Bench) -> Work[Choice]:
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

    return Work(once, lambda choice: judged_filters(choice, maps))


def judged_filters(choice: Choice, maps: HalfMaps) -> Judgement:
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
