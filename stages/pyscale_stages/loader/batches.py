"""Batches of one data set, from loader processes of one thread that are ended with it always."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import pickle
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from typing import Any, Self

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler

from pyscale_stages.commandline import THREAD_VARIABLES
from pyscale_stages.errors import (
    BadInput,
    MissingPart,
    ResourceExhausted,
    StageError,
    as_stage_error,
    said_by,
)
from pyscale_stages.loader.stage import LoaderParams

ENDING_S = 10.0
"""For a loader process to end after it was told to; then it is killed."""
_OURS = {kind.__name__: kind for kind in (BadInput, MissingPart, ResourceExhausted, StageError)}
_SHARED_MEMORY = (
    "unable to write to file </torch",
    "unable to allocate shared memory",
    # So ends a write into shared memory that is full.
    "Bus error",
)


class Batches:
    """Batches taken one after another, for ever: a data set that ends is begun again."""

    def __init__(
        self, dataset: Dataset[Any], params: LoaderParams, seed: int, num_workers: int
    ) -> None:
        of_processes: dict[str, Any] = {
            "multiprocessing_context": params.start_method,
            "prefetch_factor": params.prefetch_factor,
            "persistent_workers": params.persistent_workers,
            "worker_init_fn": begin_loader_process,
        }
        self._loader: DataLoader[Any] = DataLoader(
            dataset,
            batch_size=params.batch_size,
            sampler=sampler_of(dataset, seed, params.factory),
            num_workers=num_workers,
            # torch would warn of it in its own words; the stage says it once.
            pin_memory=params.pin_memory and torch.accelerator.is_available(),
            # From it torch also draws the seeds of the loader processes.
            generator=torch.Generator().manual_seed(seed),
            # torch refuses most of these where it starts no process.
            **(of_processes if num_workers else {}),
        )
        self._iterator: Any = None
        self._others: set[BaseProcess] = set()
        self._processes: set[BaseProcess] = set()
        self.ready_at_most = num_workers * (self._loader.prefetch_factor or 0)
        """Batches that may lie ready: torch has as many asked for at any time."""
        self.ended = 0
        """How often the data set came to its end."""

    def __enter__(self) -> Self:
        # What this process had started before is not the loader's to end.
        self._others = set(multiprocessing.active_children())
        return self

    def __exit__(self, *_error: object) -> None:
        processes = self._processes | self._living()
        # torch does it when the iterator goes, but the trace of an error keeps that alive.
        if (shut_down := getattr(self._iterator, "_shutdown_workers", None)) is not None:
            # How a loader process ends that nobody wants more of says nothing of what it gave.
            with suppress(RuntimeError):
                shut_down()
        self._iterator = None
        for process in processes:
            process.join(ENDING_S)
            if process.is_alive():
                process.kill()
                process.join()

    def begin(self) -> None:
        """Begin a pass over the data set with empty queues; batches asked for are dropped."""
        with warnings.catch_warnings():
            # torch warns of what it then raises; the stage says it once.
            warnings.filterwarnings("ignore", message="Got pickle error")
            self._iterator = iter(self._loader)
        self._processes |= self._living()

    def take(self) -> Any:
        """Wait for the next batch."""
        try:
            return next(self._iterator)
        except StopIteration:
            self.ended += 1
        self.begin()
        try:
            return next(self._iterator)
        except StopIteration:
            raise BadInput(
                "the dataset gives no patch: check the slides, and which of them its factory "
                "leaves out"
            ) from None

    def _living(self) -> set[BaseProcess]:
        return set(multiprocessing.active_children()) - self._others


class EndlessSampler(Sampler[int]):
    """Every item once, in an order drawn at random, and then all again in another."""

    def __init__(self, items: int, seed: int) -> None:
        self._items = items
        self._seed = seed

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self._seed)
        while True:
            yield from torch.randperm(self._items, generator=generator).tolist()


def sampler_of(dataset: Dataset[Any], seed: int, factory: str) -> EndlessSampler | None:
    """Give what draws the items of a data set; None where it gives them in its own order."""
    if isinstance(dataset, IterableDataset):
        return None
    length = getattr(dataset, "__len__", None)
    if length is None:
        raise BadInput(
            f"the dataset of the factory {factory} has neither a length nor its own order: give "
            "its class __len__, or derive it from torch.utils.data.IterableDataset"
        )
    items = int(length())
    if items == 0:
        raise BadInput(
            f"the dataset of the factory {factory} has no items: check that it finds its slides"
        )
    return EndlessSampler(items, seed)


@contextmanager
def told(params: LoaderParams) -> Iterator[None]:
    """Translate what a data set or its loader raises; brackets nothing else."""
    try:
        yield
    except StopIteration as error:
        raise BadInput(
            f"the dataset of the factory {params.factory} ended before all batches were timed: "
            "let it give patches without end, or time fewer (--grid batches=...)"
        ) from error
    except Exception as error:
        raise _sentence(error, params) from error


def _sentence(error: Exception, params: LoaderParams) -> StageError:
    text = str(error)
    caught = text.startswith("Caught ")
    # torch makes the whole traceback the message.
    kind, said = _last_line(text) if caught else (type(error).__name__, text)
    if caught and kind in _OURS:
        return _OURS[kind](said)
    if any(words in text for words in _SHARED_MEMORY):
        return ResourceExhausted(
            "shared memory, which passes batches between loader processes, ran out: enlarge "
            "/dev/shm, or lower num_workers, prefetch_factor or batch_size"
        )
    known = as_stage_error(error)
    if known is not None:
        return known
    # torch tells of a dead loader process, unless it was just fetching a batch from it.
    cut_off = isinstance(error, EOFError | ConnectionError | FileNotFoundError) and not caught
    if "exited unexpectedly" in text or "killed by signal" in text or cut_off:
        return StageError(
            f"a loader process of the factory {params.factory} died{said_by(error)}, "
            "perhaps out of memory: give the task more, or lower num_workers"
        )
    of_pickling = isinstance(error, AttributeError | TypeError) and "pickle" in text
    if of_pickling or isinstance(error, pickle.PicklingError):
        return BadInput(
            f"the dataset of the factory {params.factory} cannot be sent to loader processes "
            f"({said}): make it of classes and functions at the top of a module, without lambdas "
            "and open files, or use --grid start_method=fork"
        )
    traceback.print_exception(error)
    return StageError(
        f"the dataset of the factory {params.factory} failed with {kind} ({said}): see its "
        "messages above"
    )


def _last_line(text: str) -> tuple[str, str]:
    """Kind and message of the error that a traceback ends with."""
    kind, _, said = text.strip().splitlines()[-1].partition(": ")
    return kind.rpartition(".")[2], said


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
