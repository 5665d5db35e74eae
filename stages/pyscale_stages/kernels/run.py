"""Runs the tests of the catalog on each device, repeat after repeat, and records their times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch

from pyscale_stages.errors import ResourceExhausted, StageError, as_stage_error
from pyscale_stages.kernels.catalog import chosen
from pyscale_stages.kernels.device import devices, forget, names_of
from pyscale_stages.kernels.params import LOWER, KernelParams
from pyscale_stages.kernels.work import Bench, Judgement, Kernel, StepClock, Work, bottleneck_on
from pyscale_stages.machine.place import in_words, place_of, scratch_folder
from pyscale_stages.machine.timingtable import timings_table, write_results
from pyscale_stages.task import Task
from pyscale_stages.timing import Timing
from pyscale_stages.torchdevice import held_bytes, wait_for


def run(task: Task) -> None:
    """Run the tests that were asked for on each device and write their timings."""
    params = task.params
    assert isinstance(params, KernelParams)
    kernels = chosen(params.tests)
    place = place_of(task)
    with task.span("model_load"):
        found = devices(task.spec.device, wanted=params.gpus, threads=task.spec.threads)
    names = names_of(found)
    task.versions |= {f"device_{index}": name for index, name in enumerate(names) if name}
    pairs = list(product(zip(found, names, strict=True), kernels))
    with in_words(place, LOWER):
        for (device, name), kernel in task.progress(pairs, len(pairs), "testing the machine"):
            more = {"threads": float(task.spec.threads)} if device.type == "cpu" else {}
            for timing in _timings(task, params, place, device, kernel):
                details = {**more, **timing.details}
                task.timings.append(timing.model_copy(update={"device": name, "details": details}))
            forget(device)
    held = [n_bytes for device in found if (n_bytes := held_bytes(device)) is not None]
    task.gpu_own_peak_bytes = max(held, default=None)
    write_results(task, timings_table(task.timings))


def _timings(
    task: Task, params: KernelParams, place: Path, device: torch.device, kernel: Kernel
) -> Iterator[Timing]:
    """All timings of one test on one device, or the one that says why there is none."""
    if why_not := kernel.why_not(device.type):
        yield _timing(kernel, device, 0, why_not=why_not)
        return
    repeat = 0
    try:
        with scratch_folder(place, task.stage.name, task.warn) as scratch:
            # Inputs are made instead of read.
            with task.span("read"):
                work = kernel.prepare(Bench(device, params, task.spec.seed, scratch))
            for repeat in range(params.repeats):
                yield from _repeat(task, device, kernel, work, repeat)
    except Exception as raised:
        why_not = _why_it_cannot_run(raised, device)
        if not why_not:
            raise
        if not why_not.startswith(NOT_APPLICABLE):
            task.warn(
                f"{kernel.name} has no times from repeat {repeat} on: {why_not}",
                "kernel-without-time",
            )
        yield _timing(kernel, device, repeat, why_not=why_not)


NOT_APPLICABLE = "not applicable: "


def _why_it_cannot_run(raised: Exception, device: torch.device) -> str:
    """Why one test failed where the others need not; empty where the error concerns all."""
    if isinstance(raised, StageError | OSError):
        return ""
    known = as_stage_error(raised)
    if isinstance(known, ResourceExhausted):
        # The sentence ends with the remedy of a stage that reads a movie.
        return f"{str(known).rpartition(': ')[0]}: give the test smaller sizes"
    said = str(raised)
    unknown_to_mps = device.type == "mps" and "MPS" in said
    if device.type != "cpu" and (isinstance(raised, NotImplementedError) or unknown_to_mps):
        first = said.partition("\n")[0].partition(". ")[0].rstrip(".")
        return f"{NOT_APPLICABLE}torch cannot compute it on {device.type} ({first})"
    return ""


def _repeat(
    task: Task, device: torch.device, kernel: Kernel, work: Work[Any], repeat: int
) -> Iterator[Timing]:
    """Time one repeat, and judge its result when the clock has stopped."""
    params = task.params
    assert isinstance(params, KernelParams)
    with task.span("read"):
        cache = work.before()
    wait = partial(wait_for, device)
    clock = StepClock(wait, own_memory=device.type != "cpu")
    with task.span("compute"):
        wait()
        start = time.perf_counter()
        result = work.once(clock)
        wait()
        wall_s = time.perf_counter() - start
    judgement = work.judge(result)
    _warn_if_wrong(task, kernel, device, judgement)
    first = {"first_call": float(repeat == 0)}
    yield _timing(
        kernel,
        device,
        repeat,
        wall_s=wall_s,
        amount=kernel.amount(params),
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
            unit=step.unit,
            bottleneck=depends_on,
            cache=cache if depends_on == "storage" else None,
            why_not=step.why_not,
            details={**first, "calls": float(step.calls)},
        )


def _timing(kernel: Kernel, device: torch.device, repeat: int, **more: Any) -> Timing:
    """A timing of one repeat of a test; `more` is what else it says, a step's bottleneck too."""
    of_test = {"bottleneck": bottleneck_on(device.type, kernel.bottleneck), "wall_s": None}
    return Timing(test=kernel.name, repeat=repeat, workers=kernel.workers, **{**of_test, **more})


def _warn_if_wrong(task: Task, kernel: Kernel, device: torch.device, judgement: Judgement) -> None:
    """Say once of a test and device that the result is wrong; each timing has its own error."""
    wrong = f"{kernel.name} computes wrongly on {device}"
    if judgement.right or any(said.text.startswith(wrong) for said in task.warned):
        return
    task.warn(
        f"{wrong}: its error is {judgement.error:.3g}, above the allowed {judgement.tolerance:.3g}",
        "wrong-kernel",
        doubts_result=True,
    )
