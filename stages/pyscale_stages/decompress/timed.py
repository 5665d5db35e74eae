"""Times one repeat of one codec: reading the file, and decoding what was read."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pyscale_stages.decompress.decode import Packed, decode_all, packed_movie, running_threads
from pyscale_stages.decompress.memory import BLOCK_BYTES, memory_for, read_into
from pyscale_stages.measure import pagecache
from pyscale_stages.movieformats.codecs import (
    CODECS,
    CodecName,
    Frame,
    MovieFile,
    first_difference,
    sha256_of_frame,
    sha256_of_movie,
)
from pyscale_stages.residency import CacheState, Residency
from pyscale_stages.task import Task
from pyscale_stages.timing import Timing

LIBRARY_ERRORS = (RuntimeError, ValueError)
"""What imagecodecs and tifffile raise for what they cannot decode."""


@dataclass
class Results:
    """A task and the checksums of what was decoded in its timings."""

    task: Task
    sha256: list[str] = field(default_factory=list)
    """Of each timing of the task; nothing where nothing was decoded."""
    said: set[str] = field(default_factory=set)

    def add(self, timing: Timing, sha256: str = "") -> None:
        """Keep a timing, with the checksum of what came out."""
        self.task.timings.append(timing)
        self.sha256.append(sha256)

    def cannot(self, name: CodecName, reason: str, repeat: int = 0, threads: int = 1) -> None:
        """Keep why a codec was not decoded."""
        self.add(
            Timing(
                test=name,
                step="decode",
                repeat=repeat,
                workers=threads,
                wall_s=None,
                bottleneck=CODECS[name].bottleneck,
                why_not=reason,
            )
        )

    def warn_once(self, sentence: str, code: str, *, doubts_result: bool = False) -> None:
        """Say something that holds for many repeats."""
        if sentence not in self.said:
            self.said.add(sentence)
            self.task.warn(sentence, code, doubts_result=doubts_result)


def time_repeat(
    results: Results, movie: MovieFile, repeat: int, threads: Iterable[int], *, cold: bool
) -> None:
    """Read a movie into memory, and decode it there on each number of threads."""
    task = results.task
    with memory_for(movie.size_bytes) as memory:
        if memory.why_not_shared:
            results.warn_once(
                f"movies are copied to memory of the process, because {memory.why_not_shared}",
                "movies-copied",
            )
        residency, state = _prepared(results, movie.path, cold=cold)
        with task.span("read"):
            start = time.monotonic()
            read_into(memory.buffer, movie.path)
            wall_s = time.monotonic() - start
        details = {"block_bytes": BLOCK_BYTES, "in_dev_shm": float(not memory.why_not_shared)}
        if residency.resident_bytes is not None:
            details["resident_before_bytes"] = residency.resident_bytes
        results.add(
            Timing(
                test=movie.name,
                step="read",
                repeat=repeat,
                wall_s=wall_s,
                amount=movie.size_bytes,
                unit="B",
                bottleneck="storage",
                cache=state,
                details=details,
            )
        )
        packed = packed_movie(movie.name, movie.path, memoryview(memory.buffer))
        room = packed.room()
        # The first call loads the library of the codec, and is not timed.
        if trouble := _trouble(packed, room):
            results.cannot(movie.name, trouble, repeat)
            return
        for count in threads:
            _decode(results, movie, packed, room, repeat=repeat, threads=count)


def _decode(
    results: Results, movie: MovieFile, packed: Packed, room: Frame, *, repeat: int, threads: int
) -> None:
    """Decode a movie and compare it with what was written."""
    task = results.task
    # Nothing of an earlier decoding may pass for this one's.
    room.fill(0)
    with running_threads(threads) as pool, task.span("compute"):
        try:
            decoding = decode_all(packed, room, pool, threads)
        except LIBRARY_ERRORS as error:
            results.cannot(movie.name, _in_words(error), repeat, threads)
            return
    found = [sha256_of_frame(frame) for frame in room]
    if difference := first_difference(movie, found):
        results.cannot(movie.name, difference, repeat, threads)
        results.warn_once(
            f"{movie.name} is decoded wrongly here: {difference}",
            "wrong-decoder",
            doubts_result=True,
        )
        return
    task.count(frames=len(found))
    timing = Timing(
        test=movie.name,
        step="decode",
        repeat=repeat,
        workers=threads,
        wall_s=decoding.wall_s,
        amount=movie.decoded_bytes,
        unit="B",
        bottleneck=CODECS[movie.name].bottleneck,
        details={
            "frames": len(found),
            "compressed_bytes": movie.size_bytes,
            "compressed_bytes_per_s": movie.size_bytes / decoding.wall_s,
            "cpu_s": decoding.cpu_s,
            "busy_threads": decoding.busy_threads,
        },
    )
    results.add(timing, sha256_of_movie(found))


def _prepared(results: Results, path: Path, *, cold: bool) -> tuple[Residency, CacheState]:
    """Bring a file into the wanted state of the page cache, and say which it reached."""
    if not cold:
        residency = pagecache.warm(path)
        return residency, pagecache.state_of(residency)
    eviction = pagecache.evict(path)
    if eviction.reason:
        # Reasons name the file, which nobody else knows.
        reason = eviction.reason.replace(str(path), path.name)
        results.warn_once(
            f"movies may not have been read from storage ({eviction.state}): {reason}",
            "perhaps-cached",
        )
    return eviction.after, eviction.state


def _trouble(packed: Packed, room: Frame) -> str:
    """What keeps a frame from being decoded; nothing where it can be."""
    try:
        packed.decoders[0](room[0])
    except LIBRARY_ERRORS as error:
        return _in_words(error)
    return ""


def _in_words(error: Exception) -> str:
    return f"the library cannot decode it: {type(error).__name__}: {error}".strip(": ")
