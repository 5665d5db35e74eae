"""Threads, cores and processes: one thread each, and what a rank lacks of its node."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch

from pyscale_stages.commandline import THREAD_VARIABLES
from pyscale_stages.loader.factories import idle_processes
from pyscale_stages.loader.stage import LoaderParams
from pyscale_stages.measure.cpus import affinity, usable_cpus
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.ranks.group import Group
from pyscale_stages.task import Task

VARIABLES = (*THREAD_VARIABLES, "BLOSC_NTHREADS", "OPENCV_FOR_THREADS_NUM", "TIFFFILE_NUM_THREADS")
"""Variables that libraries read when they are imported, as in a new loader process."""
SHOWN = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Those of the libraries that most others compute by, which a report names."""


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Pin this process and the processes that it starts to one thread each, until it is left."""
    # Loader processes are the parallelism that is measured.
    before = {name: os.environ.get(name) for name in VARIABLES}
    threads = torch.get_num_threads()
    try:
        os.environ |= dict.fromkeys(VARIABLES, "1")
        pin_this_process()
        yield
    finally:
        torch.set_num_threads(threads)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def begin_loader_process(_number: int) -> None:
    """Pin a loader process, and let it end at once when its work has ended."""
    # One that takes Python down in order while a thread moves a batch is aborted by torch.
    pin_this_process()
    atexit.register(os._exit, 0)


def pin_this_process() -> None:
    """Pin libraries that are already imported; those that come later read the variables."""
    torch.set_num_threads(1)
    if (opencv := sys.modules.get("cv2")) is not None:
        opencv.setNumThreads(1)


def threads_here() -> str:
    """What decides how many threads libraries of this process have, as far as they are imported."""
    told: dict[str, object] = {name: os.environ[name] for name in SHOWN}
    told["torch"] = torch.get_num_threads()
    if (opencv := sys.modules.get("cv2")) is not None:
        told["OpenCV"] = opencv.getNumThreads()
    return ", ".join(f"{name} {count}" for name, count in told.items())


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
