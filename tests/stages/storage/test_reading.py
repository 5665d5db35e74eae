import errno
import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from pyscale_stages.storage.reading import ALIGNMENT_BYTES, Piece, Reader, shares_of, together
from pyscale_stages.storage.reads import why_not_direct


@pytest.fixture
def write(place):
    """Write a file of random bytes."""

    def written(size_bytes):
        content = np.random.default_rng(size_bytes).bytes(size_bytes)
        path = place / f"{size_bytes}.bin"
        path.write_bytes(content)
        return path, content

    return written


@pytest.fixture(params=[False, True], ids=["cached", "direct"])
def direct(request, write, missing):
    """Whether O_DIRECT is used; skipped where the filesystem of the tests refuses it."""
    if request.param and (why_not := why_not_direct(write(5000)[0])):
        missing("O_DIRECT", f"{why_not}: put temporary files on a disk")
    return bool(request.param)


@pytest.mark.parametrize("size_bytes", [0, 1, 4096, 12_288, 12_289, 100_000])
def test_a_stream_is_the_file(write, direct, size_bytes):
    path, content = write(size_bytes)
    blocks = []
    reader = Reader(2 * ALIGNMENT_BYTES, direct=direct)
    assert reader.stream(path, 2 * ALIGNMENT_BYTES, lambda b: blocks.append(bytes(b))) == size_bytes
    assert b"".join(blocks) == content


def test_pieces_are_read_exactly_wherever_they_begin(write, direct):
    written = [write(20_000), write(9_001)]
    pieces = [Piece(0, 1024, 7000), Piece(1, 8192, 809), Piece(0, 4095, 2), Piece(0, 0, 20_000)]
    got = []
    reader = Reader(20_000, direct=direct)
    total_ns, latency_ns = reader.pick(
        [path for path, _ in written], pieces, lambda piece: got.append(bytes(piece))
    )
    for piece, found in zip(pieces, got, strict=True):
        content = written[piece.file][1]
        assert found == content[piece.offset_bytes : piece.offset_bytes + piece.length_bytes]
    assert len(latency_ns) == len(pieces)
    assert 0 < sum(latency_ns) <= total_ns


def test_a_file_that_became_shorter_is_no_end_without_a_word(write, direct):
    path, _ = write(10_000)
    with pytest.raises(FileNotFoundError, match="shorter than it was written"):
        Reader(8192, direct=direct).pick([path], [Piece(0, 8192, 4096)])


def test_no_file_stays_open_after_a_failure(write, place):
    path, _ = write(10_000)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(FileNotFoundError):
        Reader(4096).pick([path, place / "none"], [Piece(0, 0, 1)])
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_filesystem_that_refuses_is_told(write, monkeypatch):
    def refuse(*_given):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(Reader, "pick", refuse)
    path, _ = write(20_000)
    assert why_not_direct(path) == "the filesystem refuses O_DIRECT (Invalid argument)"


def test_a_vanished_file_is_no_refusal(place):
    with pytest.raises(FileNotFoundError):
        why_not_direct(place / "none")


@pytest.fixture
def files(place):
    """Seven files of unequal size."""
    paths = [place / f"file{n}" for n in range(7)]
    for number, path in enumerate(paths):
        path.write_bytes(bytes(1000 * (number + 1)))
    return paths


@pytest.mark.parametrize("readers", [1, 2, 3, 7])
def test_every_file_is_the_share_of_one_reader(files, readers):
    shares = shares_of(files, readers)
    assert [path for share in shares for path in share] == files
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == readers


def test_readers_read_all_their_files_in_the_time_of_all_and_are_gone(files):
    before = set(multiprocessing.active_children())
    read = together(shares_of(files, 3), 4096, direct=False)
    assert read.amount == 28_000
    assert set(multiprocessing.active_children()) <= before
    read = together(shares_of(files, 2), 4096, direct=False)
    details = read.details
    assert read.wall_s >= details["slowest_reader_s"] >= details["fastest_reader_s"] > 0
    assert read.wall_s >= details["overlap_s"] >= 0
    assert read.wall_s <= details["start_spread_s"] + details["slowest_reader_s"]


def test_what_one_reader_meets_ends_all(files):
    before = set(multiprocessing.active_children())
    files[5].unlink()
    with pytest.raises(FileNotFoundError):
        together(shares_of(files, 2), 4096, direct=False)
    assert set(multiprocessing.active_children()) <= before
