"""Inputs and resources of a rank: its slides, and the cores and memory of its node."""

from __future__ import annotations

import torch

from pyscale_stages.errors import BadInput
from pyscale_stages.loader.factories import idle_processes
from pyscale_stages.loader.params import LoaderParams
from pyscale_stages.loader.threads import Crew, oversubscription
from pyscale_stages.measure.cpus import affinity, usable_cpus
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.ranks.group import Group
from pyscale_stages.slides.files import slide_files
from pyscale_stages.task import Task

SLIDES = "slides"


def slides_of_rank(task: Task, number: int, count: int) -> list[str]:
    """Paths of the slides of one rank: of n ranks each has every n-th."""
    path = task.input(SLIDES)
    if path is None:
        raise BadInput(f"{task.stage.name} needs the slides: give --input {SLIDES}=FOLDER")
    found = slide_files(path)
    if len(found) < count:
        raise BadInput(
            f"{path} has {len(found)} slides, too few for {count} ranks with at least one slide "
            "each: add slides, or use fewer workers"
        )
    return [str(slide) for slide in found[number::count]]


def warn_of_surroundings(task: Task, params: LoaderParams, slides: int, group: Group) -> None:
    """Say what the numbers are not: of a node with enough cores, of pinned memory, of all."""
    node = node_name()
    crews = group.all_gather((node, tuple(affinity()), len(usable_cpus()), params.num_workers + 1))
    is_first = next(i for i, crew in enumerate(crews) if crew[0] == node) == group.number
    sentence = oversubscription([Crew(*crew) for crew in crews], node)
    if is_first and sentence:
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
