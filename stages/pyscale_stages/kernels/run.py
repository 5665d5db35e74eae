"""Runs the tests of the catalog on each device, repeat after repeat, and records their times."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch

from pyscale_stages.contract import Device
from pyscale_stages.errors import BadInput, ResourceExhausted, StageError, as_stage_error
from pyscale_stages.kernels import engine, halfmaps, memory, picking
from pyscale_stages.kernels.stage import COMBINATIONS, LOWER, Combination, KernelParams
from pyscale_stages.kernels.work import (
    NOTHING_TO_TRANSFER,
    STEPS,
    Bench,
    Kernel,
    StepClock,
    Work,
    bottleneck_on,
)
from pyscale_stages.machine.place import cache_of, in_words, place_of, scratch_folder
from pyscale_stages.machine.timingtable import write_results
from pyscale_stages.task import Task
from pyscale_stages.timing import Bottleneck, Timing
from pyscale_stages.torchdevice import give_memory_back, held_bytes, require_working, wait_for
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


def _of_mask(mask: halfmaps.Mask, *, noise_substituted: bool = False) -> Kernel:
    name = "fsc_noisesub" if noise_substituted else f"fsc_{mask}"
    prepare = partial(halfmaps.prepare_fsc, mask=mask, noise_substituted=noise_substituted)
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
        halfmaps.prepare_filters,
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


def run(task: Task[KernelParams]) -> None:
    """Run the tests that were asked for on each device and write their timings."""
    params = task.params
    kernels = chosen(params.tests)
    place = place_of(task)
    cache, _ = cache_of(task, place, params.cache_folder, params.particle_bytes)
    source = cache or place
    with task.span("model_load"):
        found = devices(task.spec.device, wanted=params.gpus, threads=task.spec.threads)
    names = names_of(found)
    task.versions |= {f"device_{index}": name for index, name in enumerate(names) if name}
    pairs = list(product(zip(found, names, strict=True), kernels))
    with in_words(source, LOWER):
        for (device, name), kernel in task.progress(pairs, len(pairs), "testing the machine"):
            more = {"threads": float(task.spec.threads)} if device.type == "cpu" else {}
            if kernel.bottleneck == "storage":
                more["from_cache_folder"] = float(source is cache)
            for timing in _timings(task, source, device, kernel):
                details = {**more, **timing.details}
                task.add_sample(timing.model_copy(update={"device": name, "details": details}))
            if device.type != "cpu":
                # The next test needs the memory of the last one, which cycles may still hold.
                gc.collect()
                give_memory_back(device)
    held = [n_bytes for device in found if (n_bytes := held_bytes(device)) is not None]
    task.gpu_own_peak_bytes = max(held, default=None)
    write_results(task)


def _timings(
    task: Task[KernelParams], source: Path, device: torch.device, kernel: Kernel
) -> Iterator[Timing]:
    """All timings of one test on one device, or the one that says why there is none."""
    # A processor has no other memory than the host's.
    if kernel.family == "transfers" and device.type == "cpu":
        yield _timing(kernel, device, 0, why_not=NOTHING_TO_TRANSFER)
        return
    repeat = 0
    try:
        with scratch_folder(source, task.stage.name, task.warn) as scratch:
            # Inputs are made instead of read.
            with task.span("read"):
                work = kernel.prepare(Bench(device, task.params, task.spec.seed, scratch))
            for repeat in range(task.params.repeats):
                yield from _repeat(task, device, kernel, work, repeat)
    except Exception as raised:
        why_not = _why_it_cannot_run(raised)
        if not why_not:
            raise
        task.warn(
            f"{kernel.name} has no times from repeat {repeat} on: {why_not}",
            "kernel-without-time",
        )
        yield _timing(kernel, device, repeat, why_not=why_not)


def _why_it_cannot_run(raised: Exception) -> str:
    """Why one test failed where the others need not; empty where the error concerns all."""
    if isinstance(raised, StageError | OSError):
        return ""
    known = as_stage_error(raised)
    if isinstance(known, ResourceExhausted):
        # The sentence ends with the remedy of a stage that reads a movie.
        return f"{str(known).rpartition(': ')[0]}: give the test smaller sizes"
    return ""


def _repeat(
    task: Task[KernelParams], device: torch.device, kernel: Kernel, work: Work[Any], repeat: int
) -> Iterator[Timing]:
    with task.span("read"):
        cache = work.before()
    wait = partial(wait_for, device)
    clock = StepClock(wait, own_memory=device.type != "cpu")
    with task.span("compute"):
        # What was queued before must not run on in the timed call.
        wait()
        start = time.perf_counter()
        result = work.once(clock)
        wait()
        wall_s = time.perf_counter() - start
    judgement = work.judge(result)
    wrong = f"{kernel.name} computes wrongly on {device}"
    # Once of a test and device: each timing has its own error.
    if not judgement.right and not any(said.text.startswith(wrong) for said in task.warned):
        task.warn(
            f"{wrong}: its error is {judgement.error:.3g}, above the allowed "
            f"{judgement.tolerance:.3g}",
            "wrong-kernel",
            doubts_result=True,
        )
    first = {"first_call": float(repeat == 0)}
    yield _timing(
        kernel,
        device,
        repeat,
        wall_s=wall_s,
        amount=kernel.amount(task.params),
        unit=kernel.unit,
        cache=cache,
        details={**first, **judgement.details},
    )
    for name, step in clock.steps.items():
        depends_on = bottleneck_on(device.type, kernel.steps.get(name, kernel.bottleneck))
        yield _timing(
            kernel,
            device,
            repeat,
            step=name,
            wall_s=None if step.why_not else step.wall_s,
            amount=step.amount,
            unit=None if step.amount is None else "B",
            bottleneck=depends_on,
            cache=cache if depends_on == "storage" else None,
            why_not=step.why_not,
            details={**first, "calls": float(step.calls)},
        )


def _timing(kernel: Kernel, device: torch.device, repeat: int, **more: Any) -> Timing:
    """A timing of one repeat of a test; `more` is what else it says, a step's bottleneck too."""
    of_test = {"bottleneck": bottleneck_on(device.type, kernel.bottleneck), "wall_s": None}
    return Timing(test=kernel.name, repeat=repeat, workers=kernel.workers, **{**of_test, **more})


def devices(kind: Device, *, wanted: int | None, threads: int) -> list[torch.device]:
    """Devices of a kind, in the order that torch gives them."""
    torch.set_num_threads(threads)
    # Shortened numbers (TF32) are faster, and are not the single precision that is tested.
    torch.backends.cuda.matmul.allow_tf32 = False
    if kind != "cuda":
        if (wanted or 1) > 1:
            raise BadInput(
                f"gpus is {wanted}, but these tests run on the processor: leave gpus out"
            )
        found = [torch.device(kind)]
    else:
        # At least one: trying it gives torch's own reason why there is none.
        n = max(1, torch.cuda.device_count())
        if (wanted or n) > n:
            raise BadInput(f"gpus is {wanted}, but torch sees {n}: use fewer")
        found = [torch.device("cuda", index) for index in range(wanted or n)]
    if kind != "cpu":
        for device in found:
            require_working(device)
    return found


def names_of(found: Sequence[torch.device]) -> list[str | None]:
    """What devices are called, equal ones with their numbers; a processor is None."""
    names = [
        torch.cuda.get_device_name(device) if device.type == "cuda" else None for device in found
    ]
    return [
        f"{name} #{device.index}" if name and names.count(name) > 1 else name
        for name, device in zip(names, found, strict=True)
    ]
