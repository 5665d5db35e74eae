"""The stage on slides that only have names."""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from pyscale_stages.contract import TaskResult
from pyscale_stages.libraries import how_to_install
from pyscale_stages.loader.batches import Batches
from pyscale_stages.loader.factories import dataset_of
from pyscale_stages.loader.params import LoaderParams
from pyscale_stages.loader.threads import one_thread_each
from stagetasks import Bench

SMALL: dict[str, Any] = {
    "factory": "patchsets:numbered",
    "num_workers": 0,
    "batch_size": 4,
    "warmup_batches": 2,
    "batches": 3,
    # Starts at once; the default imports torch anew in each loader process.
    "start_method": "fork",
}

MakeBatches = Callable[..., Batches]


@pytest.fixture(autouse=True)
def _one_thread_each() -> Iterator[None]:
    """Pin this process as the stage does before it forks.

    A loader process hangs as soon as it ends threads of OpenCV that only its parent has.
    """
    with one_thread_each():
        yield


@pytest.fixture(autouse=True)
def _no_loader_process_is_left() -> Iterator[None]:
    """End what an error still holds, in a circle: in a later test its end would be a surprise."""
    yield
    if multiprocessing.active_children():
        gc.collect()


@pytest.fixture
def wsistream(missing: Callable[[str, str], None]) -> None:
    """Need the data set that the shipped one is compared with."""
    if find_spec("wsistream") is None:
        missing("wsistream", how_to_install("loader_wsistream"))


@pytest.fixture
def slides(tmp_path: Path) -> Path:
    """A folder of four slides that only have names."""
    folder = tmp_path / "slides"
    folder.mkdir()
    for name in "abcd":
        (folder / f"{name}.svs").touch()
    return folder


@pytest.fixture
def make_batches(slides: Path) -> Iterator[MakeBatches]:
    """Begin batches of a made-up data set; its loader processes end with the test."""
    made: list[Batches] = []

    def make(*, seed: int = 0, **params: Any) -> Batches:
        settings = LoaderParams(**(SMALL | params))
        paths = [str(path) for path in sorted(slides.iterdir())]
        dataset = dataset_of(settings, paths, seed)
        batches = Batches(dataset, settings, seed, settings.num_workers)
        made.append(batches.__enter__())
        batches.begin()
        return batches

    yield make
    for batches in made:
        batches.__exit__(None, None, None)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """The stage with small settings."""
    torch.set_num_threads(1)
    return Bench("loader", tmp_path, **SMALL)


@pytest.fixture
def load(bench: Bench, slides: Path) -> Callable[..., TaskResult]:
    """Load from the slides."""
    return partial(bench.run, "run", slides)
