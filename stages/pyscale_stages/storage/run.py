"""Measures one place: writes test files into it, reads them in every way, and removes them."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import imagecodecs  # noqa: F401 - else its import would be taken for writing
import mrcfile  # noqa: F401 - as above
import numpy as np
import tifffile  # noqa: F401 - as above

from pyscale_stages.atomic import flush_to_disk
from pyscale_stages.errors import BadInput
from pyscale_stages.machine.place import (
    cache_of,
    in_words,
    place_of,
    refuse_lack_of_space,
    scratch_folder,
)
from pyscale_stages.machine.timingtable import write_results
from pyscale_stages.movieformats.codecs import MovieFormat
from pyscale_stages.storage.metadata import measure_metadata
from pyscale_stages.storage.reading import Reader
from pyscale_stages.storage.reads import (
    DROP_CACHES,
    Case,
    FileSet,
    Stack,
    add,
    prepare,
    read_at_random,
    read_in_parallel,
    read_sequentially,
    verified,
)
from pyscale_stages.storage.stage import LOWER, Order, StorageParams, room_bytes
from pyscale_stages.storage.testfiles import OWN, own_files, write_movies, write_stack
from pyscale_stages.task import Task

COPY = "particle_cache_copy"
Reads = Callable[[Task[StorageParams], Case, Stack], None]
BY_ORDER: dict[Order, Reads] = {"sequential": read_sequentially, "random": read_at_random}


@dataclass
class Bench:
    """What the tests of a task work on."""

    task: Task[StorageParams]
    folder: Path
    """Work folder in the measured place."""
    cache: Path | None
    """Work folder in the cache folder."""
    no_cache: str
    """Why there is none, in words."""
    movies: dict[MovieFormat, FileSet]
    stacks: dict[str, Stack] = field(default_factory=dict)
    """The stack of this repeat: as `particle` in the place, as `cache` its copy, as `own` the
    user's."""
    own: dict[MovieFormat, FileSet] = field(default_factory=dict)
    """Movies of the user's own."""


def run(task: Task[StorageParams]) -> None:
    """Do every test as often as asked and write what was timed, with its proofs."""
    params = task.params
    place = place_of(task)
    cache, no_cache = cache_of(task, place, params.cache_folder, params.stack_bytes)
    needed = {place: room_bytes(params)}
    if cache is not None:
        needed[cache] = needed.get(cache, 0) + params.stack_bytes
    refuse_lack_of_space(needed, LOWER)
    _refuse_no_drop(params)
    _tell_scale(task, params)
    scratch = partial(scratch_folder, stage=task.stage.name, warn=task.warn)
    with ExitStack() as stack:
        stack.enter_context(in_words(place, LOWER))
        folder = stack.enter_context(scratch(place))
        cache_folder = stack.enter_context(scratch(cache)) if cache is not None else None
        with task.span("compute"):
            kinds = tuple(dict.fromkeys(params.movie_formats))
            movies = {
                kind: write_movies(task, folder / kind, kind)
                for kind in task.progress(kinds, len(kinds), "writing movies")
            }
            own, own_stack = own_files(params.own_data)
        bench = Bench(task, folder, cache_folder, no_cache, movies, own_stack, own)
        tests = [test for repeat in range(params.repeats) for test in _tests_of(bench, repeat)]
        for test in task.progress(tests, len(tests), "measuring storage"):
            test()
    write_results(task)


def _refuse_no_drop(params: StorageParams) -> None:
    if params.drop_caches and not os.access(DROP_CACHES, os.W_OK):
        raise BadInput(
            f"drop_caches writes into {DROP_CACHES}, which this user may not: run as root, or "
            "leave it out; files are driven out of the page cache one by one all the same"
        )


def _tell_scale(task: Task, params: StorageParams) -> None:
    """Say how large the stack is against that of CryoSPARC's benchmark."""
    if params.scale_to_published != 1:
        task.warn(
            f"the particle stack of {params.stack_bytes / 1e9:.3g} GB is "
            f"{params.scale_to_published:.3g} times the 13.1 GB of CryoSPARC's benchmark: "
            "compare rates with it, not times",
            "other-stack-size",
        )


def _tests_of(bench: Bench, repeat: int) -> list[Callable[[], None]]:
    """List the tests of one repeat: writing and copying, then all that reads, in a drawn order."""
    # What else the machine does then hits no test in each repeat; none depends on what came before.
    others = [*_reading_tests(bench, repeat)]
    rng = np.random.default_rng([bench.task.spec.seed, repeat])
    writing = [partial(_write, bench, repeat), partial(_copy, bench, repeat)]
    return [*writing, *(others[index] for index in rng.permutation(len(others)))]


def _reading_tests(bench: Bench, repeat: int) -> Iterator[Callable[[], None]]:
    task, params = bench.task, bench.task.params

    def of_stack(read: Reads, case: Case, where: str = "particle") -> Callable[[], None]:
        # Which files these are is known only when they are written in this repeat.
        return lambda: read(task, case, bench.stacks[where])

    yield partial(measure_metadata, task, bench.folder / "small", repeat)
    for mode in params.modes:
        for name, movies in (("movie", bench.movies), ("own_movie", bench.own)):
            for kind, files in movies.items():
                case = Case(f"{name}_read_{kind}", mode, repeat)
                yield partial(read_sequentially, task, case, files)
        cache = ["cache"] if bench.cache is not None else []
        for where in ("particle", *cache, *bench.stacks.keys() & {OWN}):
            for order in params.orders:
                case = Case(f"{where}_{order}_read", mode, repeat)
                yield of_stack(BY_ORDER[order], case, where)
        for readers in dict.fromkeys(params.readers):
            yield of_stack(read_in_parallel, Case("parallel_read", mode, repeat, readers))


def _write(bench: Bench, repeat: int) -> None:
    bench.stacks["particle"] = write_stack(bench.task, bench.folder / "stack", repeat)


def _copy(bench: Bench, repeat: int) -> None:
    if bench.cache is None:
        add(bench.task, COPY, None, repeat=repeat, why_not=bench.no_cache, bottleneck="storage")
        return
    with in_words(bench.cache.parent, LOWER):
        original = bench.stacks["particle"]
        bench.stacks["cache"] = _copied(bench.task, original, bench.cache / "stack", repeat)


def _copied(task: Task[StorageParams], stack: Stack, folder: Path, repeat: int) -> Stack:
    """Copy the stack, cold where that can be had, anew, and time copying and flushing."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    copies = replace(stack, folder=folder, files=tuple(folder / f.name for f in stack.files))
    with task.span("compute"):
        proof = prepare(stack.files, "cold", drop_caches=task.params.drop_caches)
    copy_s = flush_s = 0.0
    with task.span("write"):
        for source, copy in zip(stack.files, copies.files, strict=True):
            begin = time.perf_counter()
            shutil.copyfile(source, copy)
            flushing = time.perf_counter()
            flush_to_disk(copy)
            flush_s += time.perf_counter() - flushing
            copy_s += flushing - begin
    with task.span("compute"):
        block_bytes = task.params.block_bytes
        checksum = float(verified(Reader(block_bytes), copies, block_bytes))
    of_all: dict[str, Any] = {"repeat": repeat, "amount": stack.total_bytes, "unit": "B"}
    of_all["bottleneck"] = "storage"
    details = proof.details | {"checksum": checksum}
    add(task, COPY, copy_s + flush_s, **of_all, cache=proof.state, details=details)
    add(task, COPY, copy_s, **of_all, cache=proof.state, step="copy")
    add(task, COPY, flush_s, **of_all, step="flush")
    return copies
