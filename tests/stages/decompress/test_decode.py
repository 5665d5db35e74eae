"""Decoding of copies in memory, on threads that run at the same time."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from pyscale_stages.decompress.run import (
    SHARED_MEMORY,
    Packed,
    decode_all,
    memory_for,
    packed_movie,
    read_into,
    running_threads,
)
from pyscale_stages.errors import BadInput, ResourceExhausted
from pyscale_stages.measure.mounts import filesystem_of
from pyscale_stages.movieformats.codecs import (
    CODECS,
    Camera,
    first_difference,
    sha256_of_frame,
    write_movie_file,
)
from refusals import refused

CAMERA = Camera(frames=5, height_px=300, width_px=256, dose_per_px=0.4)


def packed(name, camera, folder):
    movie = write_movie_file(name, camera, 0, folder)
    return packed_movie(name, movie.path, memoryview(movie.path.read_bytes())), movie.sha256


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", CODECS)
def test_frames_come_back_exactly_on_any_number_of_threads(tmp_path, name, threads):
    movie, written = packed(name, CAMERA, tmp_path)
    room = movie.room()
    with running_threads(threads) as pool:
        *_, busy = decode_all(movie, room, pool)
    assert [sha256_of_frame(frame) for frame in room] == written
    assert 1 <= busy <= threads


def test_as_many_frames_as_threads_are_decoded_at_once():
    """Each decoder waits for three others: it ends only if four run at the same time."""
    meeting = threading.Barrier(4, timeout=400)
    waiting = [lambda _frame: meeting.wait()] * 8
    movie = Packed(waiting, (8, 1, 1), np.dtype(np.uint8))
    with running_threads(4) as pool:
        assert decode_all(movie, movie.room(), pool)[-1] == 4


def test_the_first_frame_that_differs_is_named_by_checksums_that_tell_shapes_apart(tmp_path):
    movie = write_movie_file("mrc", CAMERA, 0, tmp_path)
    assert first_difference(movie, movie.sha256) == ""
    changed = [*movie.sha256[:3], "0" * 64, *movie.sha256[4:]]
    assert "frame 3 came back" in first_difference(movie, changed)
    frame = np.zeros((2, 6), np.uint8)
    others = [frame.reshape(3, 4), frame.view(np.int8), frame + 1]
    assert sha256_of_frame(frame) not in {sha256_of_frame(other) for other in others}
    assert sha256_of_frame(frame) == sha256_of_frame(frame.astype(bool))


CONTENT = os.urandom((9 << 20) + 17)

needs_shared_memory = pytest.mark.skipif(
    not SHARED_MEMORY.is_dir() or filesystem_of(SHARED_MEMORY).fs_type != "tmpfs",
    reason="no /dev/shm in memory here",
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "movie.mrc"
    path.write_bytes(CONTENT)
    return path


def size_of(path):
    """Size of what may be another program's, and gone by now."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


@needs_shared_memory
def test_a_file_is_copied_whole_to_shared_memory_without_a_name(file):
    before = set(SHARED_MEMORY.iterdir())
    with memory_for(len(CONTENT)) as memory:
        read_into(memory, file)
        assert memory[:] == CONTENT
        mine = {path for path in SHARED_MEMORY.iterdir() if size_of(path) == len(CONTENT)}
        assert not mine - before


def test_shared_memory_without_room_is_refused(tmp_path):
    with refused(ResourceExhausted), memory_for(len(CONTENT), tmp_path / "shm"):
        pytest.fail("it began")


def test_a_file_that_became_shorter_is_told(file):
    with memory_for(len(CONTENT) + 1) as memory, refused(BadInput):
        read_into(memory, file)
