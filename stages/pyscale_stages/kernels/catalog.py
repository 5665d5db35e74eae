"""All tests of the stage: one entry each, with what it measures and what it depends on."""

from __future__ import annotations

from functools import partial

from pyscale_stages.errors import BadInput
from pyscale_stages.kernels import engine, filters, fsc, memory, picking
from pyscale_stages.kernels.stage import COMBINATIONS, Combination
from pyscale_stages.kernels.work import STEPS, Kernel
from pyscale_stages.timing import Bottleneck
from pyscale_stages.wording import did_you_mean


def _of_combination(how: Combination) -> Kernel:
    load: Bottleneck = "storage" if how.place == "disk" else "memory"
    return Kernel(
        how.name,
        "engine",
        "storage" if how.place == "disk" else "gpu",
        "image",
        lambda params: params.particles,
        partial(engine.prepare, how=how),
        steps={**STEPS, "load_particles": load},
        workers=2 if how.threads == "multi" else 1,
    )


def _of_mask(mask: fsc.Mask, *, noise_substituted: bool = False) -> Kernel:
    name = "fsc_noisesub" if noise_substituted else f"fsc_{mask}"
    prepare = partial(fsc.prepare, mask=mask, noise_substituted=noise_substituted)
    return Kernel(name, "fsc", "gpu", "map", lambda _params: 2.0, prepare)


def _of_transfer(direction: memory.Direction, *, pinned: bool) -> Kernel:
    return Kernel(
        f"{direction}_{'pinned' if pinned else 'pageable'}",
        "transfers",
        "pcie",
        "B",
        memory.moved_bytes,
        partial(memory.prepare_transfer, direction=direction, pinned=pinned),
    )


KERNELS: tuple[Kernel, ...] = (
    _of_mask("spherical"),
    _of_mask("loose"),
    _of_mask("tight"),
    _of_mask("tight", noise_substituted=True),
    Kernel(
        "matched_cv_filter_estimation",
        "filters",
        "pcie",
        "map",
        lambda params: 2.0 * params.cutoffs,
        filters.prepare,
    ),
    Kernel(
        "picking", "picking", "gpu", "image", lambda params: params.micrographs, picking.prepare
    ),
    *(_of_combination(how) for how in COMBINATIONS),
    _of_transfer("host_to_device", pinned=False),
    _of_transfer("host_to_device", pinned=True),
    _of_transfer("device_to_host", pinned=False),
    _of_transfer("device_to_host", pinned=True),
    Kernel(
        "allocation",
        "allocation",
        "allocation",
        "B",
        lambda params: params.allocation_bytes,
        memory.prepare_allocation,
    ),
)


def chosen(names: tuple[str, ...]) -> tuple[Kernel, ...]:
    """Tests of the given names or families, in the catalog's order; all where none is given."""
    known = {kernel.name for kernel in KERNELS} | {kernel.family for kernel in KERNELS}
    for name in names:
        if name not in known:
            raise BadInput(f"unknown test {name!r}: {did_you_mean(name, known)}")
    return tuple(
        kernel for kernel in KERNELS if not names or {kernel.name, kernel.family} & {*names}
    )
