"""A movie in memory: read into it, and decoded there on a number of threads."""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput, ResourceExhausted
from pyscale_stages.movieformats.codecs import HEADER_BYTES, CodecName
from pyscale_stages.movieformats.eer import PLACE_BITS, RUN_BITS
from pyscale_stages.wording import size_in_words

SHARED_MEMORY = Path("/dev/shm")
BLOCK_BYTES = 4 << 20
"""Asked of the kernel by one read."""
Frame = npt.NDArray[Any]
Decoder = Callable[[Frame], object]
"""Decodes one frame into given memory, which holds zeros."""


@dataclass(frozen=True)
class Memory:
    """Room for one file."""

    buffer: mmap.mmap
    why_not_shared: str
    """Why it is memory of the process and no file in /dev/shm; nothing where it is one."""


@contextmanager
def memory_for(size_bytes: int, folder: Path = SHARED_MEMORY) -> Iterator[Memory]:
    """Yield room for a file, without a name in /dev/shm or else in the process, with the reason."""
    with ExitStack() as stack:
        # Fills in the page table at once: faults would else be counted as decoding.
        at_once = getattr(mmap, "MAP_POPULATE", 0)
        try:
            file = stack.enter_context(TemporaryFile(dir=folder))
            # Without pages of its own, writing to a full /dev/shm would kill the process.
            os.posix_fallocate(file.fileno(), 0, size_bytes)
        except OSError as error:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | at_once
            reason = f"{folder} has no room of {size_in_words(size_bytes)} ({error.strerror})"
            yield Memory(mmap.mmap(-1, size_bytes, flags=flags), reason)
        else:
            flags = mmap.MAP_SHARED | at_once
            yield Memory(mmap.mmap(file.fileno(), size_bytes, flags=flags), "")


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
    shape: tuple[int, int, int]
    """(T, Y, X) of the movie."""
    dtype: np.dtype[Any]

    def room(self) -> Frame:
        """Memory for all decoded frames, given by the kernel already: page faults take longer."""
        room = np.empty(self.shape, self.dtype)
        room.fill(0)
        return room


@dataclass(frozen=True)
class Decoding:
    """What it took to decode a movie once."""

    wall_s: float
    cpu_s: float
    """Time of all cores."""
    busy_threads: int
    """Threads that decoded at least one frame."""


def packed_movie(name: CodecName, path: Path, content: memoryview) -> Packed:
    """Prepare the decoding of each frame: what remains is what the library of the codec does."""
    if name == "mrc":
        import mrcfile

        with mrcfile.mmap(path) as file:
            # A stack of one image is an image.
            shape, dtype = file.data.shape[-2:], file.data.dtype
        inside = np.frombuffer(content, dtype, offset=HEADER_BYTES).reshape(-1, *shape)
        return _packed([partial(np.copyto, src=frame) for frame in inside], shape, dtype)

    import tifffile

    with tifffile.TiffFile(path) as file:
        pages = [page.aspage() for page in file.pages]
        strips = [
            content[page.dataoffsets[0] : page.dataoffsets[0] + page.databytecounts[0]]
            for page in pages
        ]
        shape, dtype = pages[0].shape, np.dtype(pages[0].dtype)
        if name == "tiff_none":
            frames = [np.frombuffer(strip, dtype).reshape(shape) for strip in strips]
            return _packed([partial(np.copyto, src=frame) for frame in frames], shape, dtype)
        decode = tifffile.TIFF.DECOMPRESSORS[pages[0].compression]
    layout = (shape, RUN_BITS, PLACE_BITS // 2, PLACE_BITS // 2) if name == "eer" else ()
    # The other decoders fill plain bytes.
    knows_images = name in {"eer", "tiff_jpeg2000"}

    def into(strip: memoryview, frame: Frame) -> None:
        decode(strip, *layout, out=frame if knows_images else frame.reshape(-1).view(np.uint8))

    return _packed([partial(into, strip) for strip in strips], shape, dtype)


def _packed(decoders: Sequence[Decoder], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Packed:
    height, width = shape
    return Packed(decoders, (len(decoders), height, width), dtype)


@contextmanager
def running_threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Yield threads that run already: starting them is not decoding."""
    with ThreadPoolExecutor(count) as pool:
        all_run = threading.Barrier(count + 1)
        try:
            for _ in range(count):
                pool.submit(all_run.wait)
            all_run.wait()
        except BaseException as error:
            # Also after Ctrl-C, those that wait already must end.
            all_run.abort()
            if isinstance(error, RuntimeError):
                raise ResourceExhausted(
                    f"{count} threads cannot be started here ({error}): use fewer, or ask for a "
                    "higher limit of processes"
                ) from error
            raise
        yield pool


def decode_all(movie: Packed, room: Frame, pool: ThreadPoolExecutor, threads: int) -> Decoding:
    """Decode every frame once into `room`, which holds zeros; a free thread takes the next."""
    todo = deque(range(len(movie.decoders)))

    def work(_worker: int) -> int | None:
        found = None
        while todo:
            try:
                number = todo.popleft()
            except IndexError:
                # Another thread was quicker.
                break
            movie.decoders[number](room[number])
            found = threading.get_ident()
        return found

    cpu_s = time.process_time()
    start = time.monotonic()
    try:
        busy = set(pool.map(work, range(threads))) - {None}
    finally:
        # After an error or Ctrl-C, threads must not go on.
        todo.clear()
    return Decoding(
        wall_s=time.monotonic() - start, cpu_s=time.process_time() - cpu_s, busy_threads=len(busy)
    )
