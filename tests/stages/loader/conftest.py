"""The stage on slides that only have names."""

import gc
import multiprocessing
from contextlib import contextmanager
from functools import partial

import pytest
import torch

from pyscale_stages.loader.batches import Batches, one_thread_each
from pyscale_stages.loader.factories import dataset_of
from pyscale_stages.loader.stage import LoaderParams
from stagetasks import Bench

SMALL = {
    "factory": "patchsets:numbered",
    "num_workers": 0,
    "batch_size": 4,
    "warmup_batches": 2,
    "batches": 3,
}


@pytest.fixture(autouse=True)
def _one_thread_each():
    """Pin this process as the stage does before it forks.

    A loader process hangs as soon as it ends threads of OpenCV that only its parent has.
    """
    with one_thread_each():
        yield


@pytest.fixture(autouse=True)
def _no_loader_process_is_left(monkeypatch):
    """End what an error still holds, in a circle: in a later test its end would be a surprise.

    Torch waits for the processes of a loader that failed, by default 5 s.
    """
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 0.5)
    yield
    if multiprocessing.active_children():
        gc.collect()


@pytest.fixture
def slides(tmp_path):
    """A folder of four slides that only have names."""
    folder = tmp_path / "slides"
    folder.mkdir()
    for name in "abcd":
        (folder / f"{name}.svs").touch()
    return folder


@pytest.fixture
def begun():
    """Begin batches of a data set in this block; with the loader processes that gives."""

    @contextmanager
    def begin(dataset, num_workers=1, start_method="fork", **params):
        of_processes = {"num_workers": num_workers, "start_method": start_method}
        settings = LoaderParams(**(SMALL | of_processes | params))
        before = set(multiprocessing.active_children())
        with Batches(dataset, settings, 0, num_workers) as batches:
            batches.begin()
            yield batches, set(multiprocessing.active_children()) - before

    return begin


@pytest.fixture
def make_batches(slides):
    """Begin batches of a made-up data set; its loader processes end with the test."""
    made = []

    def make(*, seed=0, **params):
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
def bench(tmp_path):
    """The stage with small settings."""
    torch.set_num_threads(1)
    return Bench("loader", tmp_path, **SMALL)


@pytest.fixture
def load(bench, slides):
    """Load from the slides."""
    return partial(bench.run, "run", slides)
