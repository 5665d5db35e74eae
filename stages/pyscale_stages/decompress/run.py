"""Reads and decodes movies, over and over, in random order, and times both apart."""

from __future__ import annotations

import mmap
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import imagecodecs  # noqa: F401 - else its import would be taken for writing
import mrcfile  # noqa: F401 - as above
import numpy as np
import numpy.random
import tifffile

from pyscale_stages.decompress.stage import DecompressParams, room_bytes
from pyscale_stages.errors import BadInput, ResourceExhausted
from pyscale_stages.machine.place import (
    in_words,
    place_of,
    refuse_lack_of_space,
    scratch_folder,
    warn_of_unproved,
)
from pyscale_stages.machine.timingtable import write_results
from pyscale_stages.measure import pagecache
from pyscale_stages.measure.cgroups import refuse_beyond_memory
from pyscale_stages.movieformats.codecs import (
    CODECS,
    HEADER_BYTES,
    PLACE_BITS,
    RUN_BITS,
    CodecName,
    Frame,
    MovieFile,
    checksum_of,
    first_difference,
    sha256_of_frame,
    write_movie_file,
)
from pyscale_stages.task import Task
from pyscale_stages.timing import Timing
from pyscale_stages.wording import plural, size_in_words

SHARED_MEMORY = Path("/dev/shm")
BLOCK_BYTES = 4 << 20
"""Asked of the kernel by one read."""
STARTING_S = 60.0
"""How long threads wait for each other to run."""
Decoder = Callable[[Frame], object]
"""Decodes one frame into given memory, which holds zeros."""


@contextmanager
def memory_for(size_bytes: int, folder: Path = SHARED_MEMORY) -> Iterator[mmap.mmap]:
    """Yield room for a file in /dev/shm, without a name there."""
    try:
        with TemporaryFile(dir=folder) as file:
            # Without pages of its own, writing to a full /dev/shm would kill the process.
            os.posix_fallocate(file.fileno(), 0, size_bytes)
            # Faults would else be counted as decoding.
            flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
            room = mmap.mmap(file.fileno(), size_bytes, flags=flags)
    except OSError as error:
        raise ResourceExhausted(
            f"{folder} has no room of {size_in_words(size_bytes)} for a movie ({error.strerror}): "
            "free memory there, or measure smaller movies"
        ) from error
    yield room


def read_into(buffer: mmap.mmap, path: Path) -> None:
    """Fill memory with the content of a file of exactly its size."""
    with path.open("rb", buffering=0) as file, memoryview(buffer) as view:
        done = 0
        while done < len(view):
            count = file.readinto(view[done : done + BLOCK_BYTES])
            if not count:
                raise BadInput(
                    f"{path} became shorter while it was read: check that nothing else writes it"
                )
            done += count


@dataclass(frozen=True)
class Packed:
    """A movie in memory as it lies in its file."""

    decoders: Sequence[Decoder]
    shape: tuple[int, ...]
    """(T, Y, X) of the movie."""
    dtype: np.dtype[Any]

    def room(self) -> Frame:
        """Memory for all decoded frames, given by the kernel already: page faults take longer."""
        room = np.empty(self.shape, self.dtype)
        room.fill(0)
        return room


def packed_movie(name: CodecName, path: Path, content: memoryview) -> Packed:
    """Prepare the decoding of each frame: what remains is what the library of the codec does."""
    if name == "mrc":
        import mrcfile

        with mrcfile.mmap(path) as file:
            # A stack of one image is an image.
            shape, dtype = file.data.shape[-2:], file.data.dtype
        inside = np.frombuffer(content, dtype, offset=HEADER_BYTES).reshape(-1, *shape)
        copies = [partial(np.copyto, src=frame) for frame in inside]
        return Packed(copies, inside.shape, dtype)

    with tifffile.TiffFile(path) as file:
        pages = [page.aspage() for page in file.pages]
        strips = [
            content[page.dataoffsets[0] : page.dataoffsets[0] + page.databytecounts[0]]
            for page in pages
        ]
        shape, dtype = pages[0].shape, np.dtype(pages[0].dtype)
        if name == "tiff_none":
            frames = [np.frombuffer(strip, dtype).reshape(shape) for strip in strips]
            copies = [partial(np.copyto, src=frame) for frame in frames]
            return Packed(copies, (len(copies), *shape), dtype)
        decode = tifffile.TIFF.DECOMPRESSORS[pages[0].compression]
    layout = (shape, RUN_BITS, PLACE_BITS // 2, PLACE_BITS // 2) if name == "eer" else ()
    # The other decoders fill plain bytes.
    knows_images = name in {"eer", "tiff_jpeg2000"}

    def into(strip: memoryview, frame: Frame) -> None:
        decode(strip, *layout, out=frame if knows_images else frame.reshape(-1).view(np.uint8))

    return Packed([partial(into, strip) for strip in strips], (len(strips), *shape), dtype)


@contextmanager
def running_threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Yield threads that run already: starting them is not decoding."""
    all_run = threading.Barrier(count)
    with ThreadPoolExecutor(count) as pool:
        # Those that run do not wait for ever for one that cannot be started.
        list(pool.map(lambda _: all_run.wait(STARTING_S), range(count)))
        yield pool


def decode_all(movie: Packed, room: Frame, pool: ThreadPoolExecutor) -> tuple[float, float, int]:
    """Decode every frame once into `room`, which holds zeros; a free thread takes the next.

    Says how many seconds that took, how many of all cores, and how many threads decoded a frame.
    """

    def decode(number: int) -> int:
        movie.decoders[number](room[number])
        return threading.get_ident()

    cpu_s, start = time.process_time(), time.monotonic()
    busy = set(pool.map(decode, range(len(movie.decoders))))
    return time.monotonic() - start, time.process_time() - cpu_s, len(busy)


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
    write_results(task)


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
        eviction = pagecache.evict(movie.path)
        warn_of_unproved(task, [eviction])
        with task.span("read"):
            start = time.monotonic()
            read_into(memory, movie.path)
            wall_s = time.monotonic() - start
        details = {"block_bytes": float(BLOCK_BYTES)}
        if eviction.after.resident_bytes is not None:
            details["resident_before_bytes"] = eviction.after.resident_bytes
        _add(
            task,
            movie.name,
            "read",
            repeat=repeat,
            wall_s=wall_s,
            amount=movie.size_bytes,
            unit="B",
            bottleneck="storage",
            cache=eviction.state,
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
            wall_s, cpu_s, busy_threads = decode_all(packed, room, pool)
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
        wall_s=wall_s,
        amount=movie.decoded_bytes,
        unit="B",
        details={
            "frames": len(found),
            "movie": repeat % task.params.movies,
            "checksum": checksum_of(found),
            "compressed_bytes": movie.size_bytes,
            "compressed_bytes_per_s": movie.size_bytes / wall_s,
            "cpu_s": cpu_s,
            "busy_threads": busy_threads,
        },
    )


def _in_words(error: Exception) -> str:
    return f"the library cannot decode it: {type(error).__name__}: {error}".strip(": ")
