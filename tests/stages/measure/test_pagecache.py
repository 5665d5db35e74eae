"""Looking, evicting and warming, on real files."""

import mmap
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyscale_stages.measure import pagecache, residency

pytestmark = pytest.mark.slow

MIB = 1 << 20
UNKNOWN_CALL = 100_000
"""A kernel before 6.5 answers ENOSYS to a number that it does not know."""


@pytest.fixture
def no_pauses(monkeypatch):
    monkeypatch.setattr(pagecache, "PAUSES_S", (0.0, 0.0))


@contextmanager
def mapped(path):
    """Keep the pages of a file in memory, as long as this block lasts."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
        assert sum(pages[at] for at in range(0, len(pages), residency.PAGE_BYTES)) > 0
        yield


class TestProbe:
    @pytest.mark.parametrize("methods", [{"cachestat", "mincore"}, {"mincore"}])
    def test_a_file_is_resident_until_it_is_evicted_and_not_warmed_by_a_look(
        self, frames, methods, monkeypatch
    ):
        if "cachestat" not in methods:
            monkeypatch.setattr(residency, "_CACHESTAT", UNKNOWN_CALL)
        seen = pagecache.probe(frames)
        assert seen.resident_bytes == seen.size_bytes == 4 * MIB
        eviction = pagecache.evict(frames)
        assert eviction.before.resident_bytes == 4 * MIB
        assert (eviction.after.resident_bytes, eviction.state) == (0, "verified-cold")
        assert {seen.method, eviction.after.method} <= methods
        assert eviction.node == os.uname().nodename
        for _ in range(3):
            assert pagecache.probe(frames).resident_bytes == 0

    def test_mincore_looks_at_every_chunk_of_a_large_file(self, disk, monkeypatch):
        monkeypatch.setattr(residency, "_CACHESTAT", UNKNOWN_CALL)
        monkeypatch.setattr(residency, "_CHUNK_BYTES", MIB)
        path = disk / "odd"
        path.write_bytes(os.urandom(3 * MIB + 5))
        assert pagecache.probe(path).resident_bytes == 3 * MIB + 5

    def test_mincore_is_believed_on_an_owners_own_read_only_file(self, frames):
        frames.chmod(0o444)
        assert residency.mincore_is_honest(frames, frames.stat().st_uid)

    def test_a_reader_is_told_why_it_cannot_be_known(self, frames, as_reader):
        pagecache.evict(frames)
        seen = as_reader("probe", frames)
        assert (seen["method"], seen["resident_bytes"]) == ("none", None)
        assert "only to the file's owner" in str(seen["reason"])
        # A reader's look must not have warmed the file either.
        assert pagecache.probe(frames).resident_bytes == 0

    def test_what_is_no_file_or_not_there_is_a_reason_not_a_crash(self, disk):
        os.mkfifo(disk / "pipe")
        for path in (disk, disk / "pipe"):
            assert pagecache.probe(path).reason == "it is not a regular file"
        absent = disk / "nothing.tif"
        seen, eviction = pagecache.probe(absent), pagecache.evict(absent)
        assert seen.resident_bytes is None
        assert seen.reason == "it cannot be opened: No such file or directory"
        assert eviction.state == "unsupported"
        assert "No such file" in eviction.reason
        assert "No such file" in pagecache.warm(absent).reason


class TestEvict:
    def test_dirty_pages_are_flushed_first_and_nothing_to_evict_is_no_eviction(self, frames):
        with frames.open("r+b") as file:
            file.write(os.urandom(4 * MIB))
        assert pagecache.evict(frames).state == "verified-cold"
        assert pagecache.probe(frames).resident_bytes == 0
        assert pagecache.evict_all([]) == ()

    @pytest.mark.usefixtures("no_pauses")
    def test_mapped_pages_stay_and_it_says_so(self, frames):
        with mapped(frames):
            eviction = pagecache.evict(frames)
        assert (eviction.state, eviction.after.resident_bytes) == ("warm", 4 * MIB)
        assert "maps or reads the file" in eviction.reason
        assert pagecache.evict(frames).state == "verified-cold"

    def test_pages_that_come_back_are_evicted_in_a_later_round(self, frames, monkeypatch):
        readings = []

        def read_again(descriptor, offset, length, advice):
            advise(descriptor, offset, length, advice)
            if not readings:  # another reader, just after the first eviction
                readings.append(frames.read_bytes())

        advise = os.posix_fadvise
        monkeypatch.setattr(os, "posix_fadvise", read_again)
        eviction = pagecache.evict(frames)
        assert len(readings) == 1
        assert eviction.state == "verified-cold"
        assert eviction.before.resident_bytes == 4 * MIB

    def test_a_reader_evicts_but_proves_nothing(self, frames, as_reader):
        eviction = as_reader("evict", frames)
        after = eviction["after"]
        assert eviction["state"] == "evicted-unverified"
        assert (after["method"], after["resident_bytes"]) == ("preadv2", 0)
        assert "proves nothing" in eviction["reason"]
        # Root can look: the file is out, and what sampling read in is out again.
        assert pagecache.probe(frames).resident_bytes == 0

    def test_a_reader_finds_by_sampling_that_a_mapped_file_stays(self, frames, as_reader):
        with mapped(frames):
            assert as_reader("evict", frames)["state"] == "warm"

    def test_tmpfs_is_unsupported(self, in_memory_folder):
        path = in_memory_folder / "frames.tif"
        path.write_bytes(os.urandom(MIB))
        eviction = pagecache.evict(path)
        assert eviction.state == "unsupported"
        assert eviction.reason == "tmpfs keeps its files in memory, nowhere else"
        assert eviction.after.resident_bytes == MIB

    def test_many_files_are_answered_in_order(self, disk, frames):
        other = disk / "other.tif"
        other.write_bytes(os.urandom(MIB))
        evictions = pagecache.evict_all([other, disk / "nothing", frames])
        assert [e.path for e in evictions] == [other, disk / "nothing", frames]
        assert [e.state for e in evictions] == ["verified-cold", "unsupported", "verified-cold"]


class TestOtherFilesystems:
    def test_overlayfs_is_asked_by_mincore_because_cachestat_finds_nothing(self, disk, mounted):
        for name in ("lower", "upper", "work"):
            (disk / name).mkdir()
        lower = disk / "lower" / "frames.tif"
        lower.write_bytes(os.urandom(MIB))
        os.sync()
        layers = f"lowerdir={disk}/lower,upperdir={disk}/upper,workdir={disk}/work"
        path = mounted("-t", "overlay", "overlay", "-o", layers) / "frames.tif"
        seen = pagecache.probe(path)
        assert (seen.method, seen.resident_bytes) == ("mincore", MIB)
        assert pagecache.evict(path).state == "verified-cold"
        assert pagecache.probe(lower).resident_bytes == 0

    def test_a_loop_device_is_never_called_cold(self, disk, mounted):
        if shutil.which("mkfs.ext4") is None:
            pytest.skip("mkfs.ext4 is absent: install e2fsprogs")
        image = disk / "image.ext4"
        with image.open("wb") as file:
            file.truncate(16 * MIB)
        subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
        folder = mounted("-o", "loop", str(image))
        path = folder / "frames.tif"
        path.write_bytes(os.urandom(MIB))
        eviction = pagecache.evict(path)
        assert eviction.state == "evicted-unverified"
        assert "loop device" in eviction.reason
        # The reason is no theory: the image's own pages still hold the data.
        assert (pagecache.probe(image).resident_bytes or 0) >= MIB

    @pytest.mark.parametrize(
        ("magic", "words"), [(0x2FC12FC1, "ZFS"), (0x47504653, "GPFS"), (0x65735546, "FUSE")]
    )
    def test_caches_that_no_call_shows_are_never_called_cold(
        self, frames, magic, words, monkeypatch
    ):
        monkeypatch.setattr(residency, "filesystem_magic", lambda descriptor: magic)
        eviction = pagecache.evict(frames)
        assert eviction.state in {"unsupported", "evicted-unverified"}
        assert words in eviction.reason
        assert eviction.after.resident_bytes is None

    def test_cold_on_a_network_filesystem_is_cold_on_this_node_only(self, frames, monkeypatch):
        monkeypatch.setattr(residency, "filesystem_magic", lambda descriptor: 0x6969)
        eviction = pagecache.evict(frames)
        assert eviction.state == "verified-cold"
        assert "NFS server may still cache" in eviction.reason


def test_a_cold_file_is_brought_in_whole_and_storage_that_fails_is_a_reason(frames):
    pagecache.evict(frames)
    assert pagecache.warm(frames).resident_bytes == 4 * MIB
    # The first page of this process's memory is a file's content that cannot be read.
    said = pagecache.warm(Path("/proc/self/mem")).reason
    assert said == "it cannot be read: Input/output error"
