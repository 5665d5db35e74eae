"""Measures one place: writes test files into it, reads them in every way, and removes them."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import imagecodecs  # noqa: F401 - else its import would be taken for writing
import tifffile  # noqa: F401 - as above

from pyscale_stages.machine import timingtable
from pyscale_stages.machine.place import (
    filesystem_versions,
    in_words,
    place_of,
    ready,
    refuse_lack_of_space,
    scratch_folder,
)
from pyscale_stages.machine.timingtable import timings_table, write_results
from pyscale_stages.storage.book import RESIDENCY, Book, residency_table
from pyscale_stages.storage.fio import fio_version
from pyscale_stages.storage.params import LOWER, StorageParams, room_bytes
from pyscale_stages.storage.plan import Bench, tests_of
from pyscale_stages.storage.testfiles import write_movies
from pyscale_stages.task import Task

merge = partial(timingtable.merge, others=(RESIDENCY,))
"""The tables of all workers one below the other."""


def run(task: Task[StorageParams]) -> None:
    """Do every test as often as asked and write what was timed, with its proofs."""
    book = Book(task, task.params)
    place, cache = _folders(task, task.params)
    _describe(book, place, cache)
    scratch = partial(scratch_folder, stage=task.stage.name, warn=task.warn)
    with ExitStack() as stack:
        stack.enter_context(in_words(place, LOWER))
        folder = stack.enter_context(scratch(place))
        cache_folder = stack.enter_context(scratch(cache)) if cache is not None else None
        with task.span("compute"):
            kinds = tuple(dict.fromkeys(task.params.movie_formats))
            movies = {
                kind: write_movies(book, folder / kind, kind)
                for kind in task.progress(kinds, len(kinds), "writing movies")
            }
        _measure(Bench(book, folder, cache_folder, movies))
    write_results(task, timings_table(task.timings), {RESIDENCY: residency_table(book.proofs)})


def _measure(bench: Bench) -> None:
    params = bench.book.params
    tests = [(test, repeat) for repeat in range(params.repeats) for test in tests_of(bench, repeat)]
    for test, repeat in bench.book.task.progress(tests, len(tests), "measuring storage"):
        test(repeat)


def _folders(task: Task, params: StorageParams) -> tuple[Path, Path | None]:
    """The place and the cache folder, with room for what will be written."""
    place = place_of(task)
    needed = {place: room_bytes(params)}
    if params.cache_folder is None:
        refuse_lack_of_space(needed, LOWER)
        return place, None
    cache = ready(
        params.cache_folder, "the cache_folder", "name another cache_folder of stages.storage"
    )
    needed[cache] = needed.get(cache, 0) + params.stack_bytes
    refuse_lack_of_space(needed, LOWER)
    return place, cache


def _describe(book: Book, place: Path, cache: Path | None) -> None:
    """Say what is measured, and how large it is against CryoSPARC's benchmark."""
    task, params = book.task, book.params
    if cache is not None:
        task.versions |= filesystem_versions(cache, "cache")
        if cache.stat().st_dev == place.stat().st_dev:
            task.warn(
                "cache_folder lies on the filesystem of the place, so no second one is measured",
                "one-filesystem",
            )
    if params.fio:
        task.versions["fio"] = fio_version() or "not installed"
    if params.scale_to_published != 1:
        task.warn(
            f"the particle stack of {params.stack_bytes / 1e9:.3g} GB is "
            f"{params.scale_to_published:.3g} times the 13.1 GB of CryoSPARC's benchmark: "
            "compare rates with it, not times",
            "other-stack-size",
        )
