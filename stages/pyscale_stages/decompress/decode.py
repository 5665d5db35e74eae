"""A movie in memory: read into it, and decoded there on a number of threads."""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
STARTING_S = 60.0
"""How long threads wait for each other to run."""
Frame = npt.NDArray[Any]
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
    all_run = threading.Barrier(count)
    with ThreadPoolExecutor(count) as pool:
        # Those that run do not wait for ever for one that cannot be started.
        list(pool.map(lambda _: all_run.wait(STARTING_S), range(count)))
        yield pool


def decode_all(movie: Packed, room: Frame, pool: ThreadPoolExecutor) -> Decoding:
    """Decode every frame once into `room`, which holds zeros; a free thread takes the next."""

    def decode(number: int) -> int:
        movie.decoders[number](room[number])
        return threading.get_ident()

    cpu_s, start = time.process_time(), time.monotonic()
    busy = set(pool.map(decode, range(len(movie.decoders))))
    return Decoding(
        wall_s=time.monotonic() - start, cpu_s=time.process_time() - cpu_s, busy_threads=len(busy)
    )
