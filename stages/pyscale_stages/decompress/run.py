"""Reads and decodes movies, over and over, in random order."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import numpy.random  # noqa: F401 - else its import would be taken for writing
import tifffile  # noqa: F401 - as above

from pyscale_stages.decompress.memory import need_memory
from pyscale_stages.decompress.params import DecompressParams, room_bytes
from pyscale_stages.decompress.timed import Results, time_repeat
from pyscale_stages.machine.place import in_words, place_of, refuse_lack_of_space, scratch_folder
from pyscale_stages.machine.timingtable import timings_table, write_results
from pyscale_stages.movieformats.codecs import (
    CODECS,
    CodecName,
    MovieFile,
    why_not,
    write_movie_file,
)
from pyscale_stages.task import Task

# Without it, MRC and plain TIFF are still measured.
with suppress(ImportError):
    import imagecodecs  # noqa: F401

LOWER = "measure smaller or fewer movies"
"""What makes the test smaller, for sentences on room."""


def run(task: Task) -> None:
    """Write a movie in each codec, and time how it is read and decoded."""
    assert isinstance(task.params, DecompressParams)
    params = task.params
    results = Results(task)
    present = _present(results, params)
    need_memory(max((_memory_bytes(params, name) for name in present), default=0))
    place = place_of(task)
    refuse_lack_of_space({place: room_bytes(params)}, LOWER)
    with in_words(place, LOWER), scratch_folder(place, task.stage.name, task.warn) as folder:
        movies = _written(task, params, present, folder)
        _time_all(results, params, movies)
    write_results(task, timings_table(task.timings, {"sha256": results.sha256}))


def _present(results: Results, params: DecompressParams) -> list[CodecName]:
    """Codecs that this installation has; of each other one, the reason is kept."""
    reasons = {name: why_not(name) for name in params.codecs}
    for name, reason in reasons.items():
        if reason:
            results.cannot(name, reason)
    return [name for name, reason in reasons.items() if not reason]


def _memory_bytes(params: DecompressParams, name: CodecName) -> int:
    """Most that one codec needs: its file and its decoded frames."""
    codec = CODECS[name]
    return params.camera(name).pixels * (codec.most_bytes_per_px + codec.bytes_per_px)


def _written(
    task: Task, params: DecompressParams, names: list[CodecName], folder: Path
) -> dict[CodecName, MovieFile]:
    with task.span("write"):
        return {
            name: write_movie_file(name, params.camera(name), task.spec.seed, folder)
            for name in task.progress(names, len(names), "writing movies")
        }


def _time_all(
    results: Results, params: DecompressParams, movies: dict[CodecName, MovieFile]
) -> None:
    """Do every repeat of every codec; each round holds each once, in a seeded random order."""
    task = results.task
    counts = params.thread_counts(task.spec.threads)
    for name, movie in movies.items():
        for count in counts:
            if count > len(movie.sha256):
                reason = f"{len(movie.sha256)} frames keep no more threads busy"
                results.cannot(name, reason, threads=count)
    order = random.Random(task.spec.seed)
    rounds = [
        (repeat, name)
        for repeat in range(params.repeats)
        for name in order.sample(list(movies), len(movies))
    ]
    for repeat, name in task.progress(rounds, len(rounds), "decoding movies"):
        useful = [count for count in counts if count <= len(movies[name].sha256)]
        time_repeat(
            results,
            movies[name],
            repeat,
            order.sample(useful, len(useful)),
            cold=params.cold,
        )
