"""Loads the patches of one rank and times them: the main path of the stage."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import torch

from pyscale_stages.errors import BadInput
from pyscale_stages.loader.batches import Batches, one_thread_each, threads_here, told
from pyscale_stages.loader.factories import dataset_of, idle_processes
from pyscale_stages.loader.items import checksum_of, diversity_of, on_device, pixels_of
from pyscale_stages.loader.processes import Memory, memory_of, process_tree
from pyscale_stages.loader.stage import LOADING, LoaderParams
from pyscale_stages.loader.table import batches_table
from pyscale_stages.loader.windows import Copy, Timed, late_start, time_window
from pyscale_stages.loading import Loading
from pyscale_stages.measure.cpus import affinity, usable_cpus
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.parquet import write_tables
from pyscale_stages.ranks.group import Group, joined
from pyscale_stages.slides.reading import slide_files
from pyscale_stages.task import Task
from pyscale_stages.torchdevice import require_working


def run(task: Task[LoaderParams]) -> None:
    """Time batches free of the other ranks and in step with them; checksum and model come after."""
    params, spec = task.params, task.spec
    with joined(spec.rank, spec.ranks, spec.meeting) as group:
        task.versions |= group.transport
        slides = _slides_of_rank(task, group.number, group.count)
        device = torch.device(spec.device)
        if device.type != "cpu":
            # Also makes what torch keeps on a GPU, so that no timed copy pays for it.
            require_working(device)
        copy = copy_to(device) if params.to_device else None
        warn_of_surroundings(task, params, len(slides), group)
        seed = spec.seed + group.number
        with one_thread_each():
            free, together, memory, patch_bytes = _windows(task, params, slides, group, copy)
            threads = threads_here()
            with told(params):
                checksum, checksum_patches = _checksum(params, slides, seed)
    task.add_sample(
        Loading(
            factory=params.factory,
            slides=len(slides),
            cores=len(usable_cpus()),
            batch_size=params.batch_size,
            patch_bytes=patch_bytes,
            free=free.window,
            together=together.window if together else None,
            pss_bytes=memory.pss_bytes,
            rss_bytes=memory.rss_bytes,
            threads=threads,
            diversity=diversity_of(free.places),
            checksum=checksum,
            checksum_patches=checksum_patches,
            consumed_per_s=params.consumes_per_s,
        )
    )
    windows = {"free": free} | ({"together": together} if together else {})
    with task.span("write"):
        write_tables(task, {LOADING: batches_table(windows, spec.rank, checksum)})
        task.write_window((spec.rank, spec.rank + 1), spec.ranks)
    task.count(frames=sum(timed.window.patches for timed in windows.values()))


def _slides_of_rank(task: Task, number: int, count: int) -> list[str]:
    """Paths of the slides of one rank: of n ranks each has every n-th."""
    path = task.input("slides")
    if path is None:
        raise BadInput(f"{task.stage.name} needs the slides: give --input slides=FOLDER")
    found = slide_files(path)
    if len(found) < count:
        raise BadInput(
            f"{path} has {len(found)} slides, too few for {count} ranks with at least one slide "
            "each: add slides, or use fewer workers"
        )
    return [str(slide) for slide in found[number::count]]


def _windows(
    task: Task, params: LoaderParams, slides: list[str], group: Group, copy: Copy | None
) -> tuple[Timed, Timed | None, Memory, int]:
    """Start the loader processes, warm them up, time both windows, and end them.

    Free of the others, in step with them where there are any; memory, and bytes of a patch.
    """
    seed = task.spec.seed + group.number
    with ExitStack() as stack:
        with told(params), task.span("model_load"):
            _seed_globals(seed)
            dataset = dataset_of(params, slides, seed)
            batches = stack.enter_context(Batches(dataset, params, seed, params.num_workers))
            batches.begin()
            # No tensor is kept: one of a loader process holds a file open.
            patch_bytes = pixels_of(batches.take())[0].nbytes
        group.meet()
        with told(params), task.span("read"):
            # The first was taken when the loader processes had started.
            for _ in range(params.warmup_batches - 1):
                batches.take()
        # What was published has no meeting between warming up and timing.
        if params.opening != "published":
            group.meet()
        with told(params), task.span("compute"):
            free = time_window(batches, params, copy, slides)
        # Nothing of what comes now may disturb a rank that is still timed.
        group.meet()
        memory = memory_of(process_tree())
        begun = group.all_gather((free.start_unix_s, free.window.wall_s))
        late = late_start(*zip(*begun, strict=True))
        if late and group.number == 0:
            task.warn(late, "late-start")
        together = None
        if group.count > 1:
            with told(params), task.span("compute"):
                together = time_window(batches, params, copy, slides, group)
            memory = memory.largest(memory_of(process_tree()))
        if batches.ended:
            task.warn(
                f"the dataset of rank {group.number} ended and was started again (times: "
                f"{batches.ended}), which the waits include: let it give patches without end, or "
                "lower batches",
                "data-began-again",
            )
    return free, together, memory, patch_bytes


def _checksum(params: LoaderParams, slides: list[str], seed: int) -> tuple[str | None, int]:
    """Load the first patches again, by this process alone, whatever the loader processes are."""
    if not params.checksum_batches:
        return None, 0
    _seed_globals(seed)
    with Batches(dataset_of(params, slides, seed), params, seed, num_workers=0) as batches:
        batches.begin()
        return checksum_of(batches.take, params.checksum_batches)


def _seed_globals(seed: int) -> None:
    """Seed what a data set may draw from that does not keep to the seed that it is given."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - what data sets draw from
    torch.manual_seed(seed)


def copy_to(device: torch.device) -> Callable[[Any], None]:
    """A function that copies every tensor of a batch and returns when the copies are there."""
    if device.type != "cuda":
        raise BadInput(
            f"to_device copies batches to a GPU, but this task runs on {device.type}: use "
            "--device cuda, or leave to_device out"
        )

    def copy(batch: Any) -> None:
        there = on_device(batch, device)
        # From pinned memory the copies have only begun.
        torch.cuda.synchronize(device)
        del there

    return copy


class Crew(NamedTuple):
    """The processes of one rank, the CPUs that they may run on, and how many they may keep busy."""

    node: str
    cpus: tuple[int, ...]
    cores: int
    processes: int


def oversubscription(crews: Sequence[Crew], node: str) -> str:
    """Say in a sentence that a node has fewer cores than processes; empty where it has enough."""
    here = [crew for crew in crews if crew.node == node]
    # CPUs that several ranks may run on count once.
    cpus = {cpu for crew in here for cpu in crew.cpus}
    cores = min(len(cpus), sum(crew.cores for crew in here))
    processes = sum(crew.processes for crew in here)
    if processes <= cores:
        return ""
    ranks = f"{len(here)} rank{'s' if len(here) > 1 else ''}"
    return (
        f"{ranks} on {node} with {processes - len(here)} loader processes are {processes} "
        f"processes on {cores} usable cores: rates are those of an oversubscribed node"
    )


def warn_of_surroundings(task: Task, params: LoaderParams, slides: int, group: Group) -> None:
    """Say what the numbers are not: of a node with enough cores, of pinned memory, of all."""
    own = Crew(node_name(), tuple(affinity()), len(usable_cpus()), params.num_workers + 1)
    crews = [Crew(*crew) for crew in group.all_gather(own)]
    sentence = oversubscription(crews, own.node)
    # The first rank of a node says it for all of them.
    if sentence and [crew.node for crew in crews].index(own.node) == group.number:
        task.warn(sentence, "more-processes-than-cores")
    if params.pin_memory and not torch.accelerator.is_available():
        task.warn(
            "pin_memory has no effect without a GPU: these batches lie in ordinary memory",
            "memory-not-pinned",
        )
    if idle := idle_processes(params, slides):
        task.warn(
            f"{idle} of {params.num_workers} loader processes of rank {group.number} are idle, "
            f"because it has only {slides} slides: lower num_workers",
            "idle-processes",
        )
