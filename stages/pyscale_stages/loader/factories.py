"""Factories of the measured dataset: the shipped one, or any of a user's own."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from torch.utils.data import Dataset

from pyscale_stages.errors import BadInput, MissingPart, StageError, as_stage_error
from pyscale_stages.libraries import how_to_install
from pyscale_stages.loader.stage import FOLDER_VARIABLE, SHIPPED, LoaderParams

Factory = Callable[[list[str], int, int, int, int], "Dataset[Any]"]
"""A function of slide paths, pool_size, patches_per_slide, patches_per_visit and seed."""
TAKES = "slide_paths, pool_size, patches_per_slide, patches_per_visit, seed"


def factory_of(params: LoaderParams) -> Factory:
    """Find what makes the data set; what a patch is matters to the shipped factory alone."""
    if params.factory != SHIPPED:
        return _imported(params.factory)
    if find_spec("wsistream") is None:
        raise MissingPart(
            "the factory wsistream needs the library 'wsistream', which is not installed here: "
            f"{how_to_install('loader')}"
        )
    from pyscale_stages.loader.patches import Patches

    # The parameters say of the pool what the other arguments do.
    return lambda slides, _pool, _slide, _visit, seed: Patches(slides, seed, params)


def dataset_of(params: LoaderParams, slide_paths: list[str], seed: int) -> Dataset[Any]:
    """Make the data set of one rank."""
    factory = factory_of(params)
    try:
        made = factory(
            list(slide_paths),
            params.pool_size,
            params.patches_per_slide,
            params.patches_per_visit,
            seed,
        )
    except Exception as error:
        if as_stage_error(error) is not None:
            raise
        traceback.print_exception(error)
        raise StageError(
            f"the factory {params.factory} failed with {type(error).__name__} ({error}) when "
            f"called with ({TAKES}): see its messages above"
        ) from error
    if not isinstance(made, Dataset):
        raise BadInput(
            f"the factory {params.factory} gave {_a(made)}, which is not a torch Dataset: return "
            "an object of a class derived from torch.utils.data.Dataset or IterableDataset"
        )
    return made


def idle_processes(params: LoaderParams, slides: int) -> int:
    """Count loader processes that have no slide: of the shipped data set each takes its own."""
    return max(0, params.num_workers - slides) if params.factory == SHIPPED else 0


def _imported(path: str) -> Factory:
    module_name, _, name = path.partition(":")
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and folder not in sys.path:
        # Last, so that no module of it hides a library.
        sys.path.append(folder)
    try:
        factory = getattr(import_module(module_name), name)
    except Exception as error:
        traceback.print_exception(error)
        raise BadInput(
            f"the factory {path} cannot be imported ({type(error).__name__}: {error}): add the "
            "folder of its module to PYTHONPATH, and try the import in this Python environment"
        ) from error
    if not callable(factory):
        raise BadInput(
            f"{path} is {_a(factory)}, which cannot be called: name a function of ({TAKES})"
        )
    found: Factory = factory
    return found


def _a(thing: object) -> str:
    return "None" if thing is None else f"an object of class {type(thing).__name__}"
