"""Reads and decodes movies, over and over, in random order, and times both apart."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import imagecodecs  # noqa: F401 - else its import would be taken for writing
import mrcfile  # noqa: F401 - as above
import numpy.random  # noqa: F401 - as above
import tifffile  # noqa: F401 - as above

from pyscale_stages.decompress.decode import (
    BLOCK_BYTES,
    Packed,
    decode_all,
    memory_for,
    packed_movie,
    read_into,
    running_threads,
)
from pyscale_stages.decompress.stage import DecompressParams, room_bytes
from pyscale_stages.machine.place import in_words, place_of, refuse_lack_of_space, scratch_folder
from pyscale_stages.machine.timingtable import timings_table, write_results
from pyscale_stages.measure import pagecache
from pyscale_stages.measure.cgroups import refuse_beyond_memory
from pyscale_stages.movieformats.codecs import (
    CODECS,
    CodecName,
    MovieFile,
    checksum_of,
    first_difference,
    sha256_of_frame,
    write_movie_file,
)
from pyscale_stages.movieformats.eer import Frame
from pyscale_stages.residency import CacheState, Residency
from pyscale_stages.task import Task
from pyscale_stages.timing import Timing
from pyscale_stages.wording import plural

LOWER = "measure smaller or fewer movies"
"""What makes the test smaller, for sentences on room."""
LIBRARY_ERRORS = (RuntimeError, ValueError)
"""What imagecodecs and tifffile raise for what they cannot decode."""


def run(task: Task[DecompressParams]) -> None:
    """Write a movie in each codec, and time how it is read and decoded."""
    params = task.params
    # The file of one codec and its decoded frames.
    sizes = [(params.camera(name).pixels, CODECS[name]) for name in params.codecs]
    needed = [pixels * (one.most_bytes_per_px + one.bytes_per_px) for pixels, one in sizes]
    refuse_beyond_memory(max(needed), "decoding", "measure smaller or fewer frames")
    place = place_of(task)
    refuse_lack_of_space({place: room_bytes(params)}, LOWER)
    with in_words(place, LOWER), scratch_folder(place, task.stage.name, task.warn) as folder:
        with task.span("write"):
            movies = {
                name: _written(name, task, folder)
                for name in task.progress(params.codecs, len(params.codecs), "writing movies")
            }
        _time_all(task, params, movies)
    write_results(task, timings_table(task.of(Timing)))


def _written(name: CodecName, task: Task[DecompressParams], folder: Path) -> list[MovieFile]:
    """The movies of a codec, each drawn from a seed of its own."""
    camera, first = task.params.camera(name), task.spec.seed
    folders = [folder / str(number) for number in range(task.params.movies)]
    for each in folders:
        each.mkdir(exist_ok=True)
    return [
        write_movie_file(name, camera, first + number, each) for number, each in enumerate(folders)
    ]


def _time_all(
    task: Task[DecompressParams], params: DecompressParams, movies: dict[CodecName, list[MovieFile]]
) -> None:
    """Do every repeat of every codec; each round holds each once, in a seeded random order."""
    counts = params.thread_counts(task.spec.threads)
    frames = {name: len(own[0].sha256) for name, own in movies.items()}
    for name in movies:
        for count in counts:
            if count > frames[name]:
                reason = f"{plural(frames[name], 'frame')} keep no more threads busy"
                _cannot(task, name, reason, threads=count)
    order = random.Random(task.spec.seed)
    rounds = [
        (repeat, name)
        for repeat in range(params.repeats * params.movies)
        for name in order.sample(list(movies), len(movies))
    ]
    for repeat, name in task.progress(rounds, len(rounds), "decoding movies"):
        useful = [count for count in counts if count <= frames[name]]
        movie = movies[name][repeat % params.movies]
        time_repeat(task, movie, repeat, order.sample(useful, len(useful)))


def _add(task: Task, name: CodecName, step: str, **more: Any) -> None:
    """Keep a timing."""
    if step == "decode":
        more["bottleneck"] = CODECS[name].bottleneck
    task.add_sample(Timing(test=name, step=step, **more))


def _cannot(task: Task, name: CodecName, reason: str, repeat: int = 0, threads: int = 1) -> None:
    """Keep why a codec was not decoded."""
    _add(task, name, "decode", repeat=repeat, workers=threads, wall_s=None, why_not=reason)


def time_repeat(
    task: Task[DecompressParams],
    movie: MovieFile,
    repeat: int,
    threads: Iterable[int],
) -> None:
    """Read a movie into memory, and decode it there on each number of threads."""
    with memory_for(movie.size_bytes) as memory:
        residency, state = _evicted(task, movie.path)
        with task.span("read"):
            start = time.monotonic()
            read_into(memory, movie.path)
            wall_s = time.monotonic() - start
        details = {"block_bytes": float(BLOCK_BYTES)}
        if residency.resident_bytes is not None:
            details["resident_before_bytes"] = residency.resident_bytes
        _add(
            task,
            movie.name,
            "read",
            repeat=repeat,
            wall_s=wall_s,
            amount=movie.size_bytes,
            unit="B",
            bottleneck="storage",
            cache=state,
            details=details,
        )
        packed = packed_movie(movie.name, movie.path, memoryview(memory))
        room = packed.room()
        try:
            # The first call loads the library of the codec, and is not timed.
            packed.decoders[0](room[0])
        except LIBRARY_ERRORS as error:
            _cannot(task, movie.name, _in_words(error), repeat)
            return
        for count in threads:
            _decode(task, movie, packed, room, repeat=repeat, threads=count)


def _decode(
    task: Task[DecompressParams],
    movie: MovieFile,
    packed: Packed,
    room: Frame,
    *,
    repeat: int,
    threads: int,
) -> None:
    # Nothing of an earlier decoding may pass for this one's.
    room.fill(0)
    with running_threads(threads) as pool, task.span("compute"):
        try:
            decoding = decode_all(packed, room, pool)
        except LIBRARY_ERRORS as error:
            _cannot(task, movie.name, _in_words(error), repeat, threads)
            return
    found = [sha256_of_frame(frame) for frame in room]
    if difference := first_difference(movie, found):
        _cannot(task, movie.name, difference, repeat, threads)
        task.warn(
            f"{movie.name} is decoded wrongly here: {difference}",
            "wrong-decoder",
            doubts_result=True,
            once=True,
        )
        return
    task.count(frames=len(found))
    _add(
        task,
        movie.name,
        "decode",
        repeat=repeat,
        workers=threads,
        wall_s=decoding.wall_s,
        amount=movie.decoded_bytes,
        unit="B",
        details={
            "frames": len(found),
            "movie": repeat % task.params.movies,
            "checksum": checksum_of(found),
            "compressed_bytes": movie.size_bytes,
            "compressed_bytes_per_s": movie.size_bytes / decoding.wall_s,
            "cpu_s": decoding.cpu_s,
            "busy_threads": decoding.busy_threads,
        },
    )


def _evicted(task: Task, path: Path) -> tuple[Residency, CacheState]:
    """Drive a file out of the page cache, and say which state it reached."""
    eviction = pagecache.evict(path)
    if eviction.reason:
        # Reasons name the file, which nobody else knows.
        reason = eviction.reason.replace(str(path), path.name)
        task.warn(
            f"movies may not have been read from storage ({eviction.state}): {reason}",
            "perhaps-cached",
            once=True,
        )
    return eviction.after, eviction.state


def _in_words(error: Exception) -> str:
    return f"the library cannot decode it: {type(error).__name__}: {error}".strip(": ")
