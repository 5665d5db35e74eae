"""The kernel's report of a file's pages in memory: cachestat, mincore and preadv2."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from functools import cache
from pathlib import Path

from pyscale_stages.measure.cgroups import kernel_text

TELLS_NOTHING = (
    ""
    if hasattr(os, "posix_fadvise")
    else "this operating system does not tell which files it keeps in memory, and evicts none"
)
"""Why nothing is known of the page cache, as on macOS."""
PAGE_BYTES = mmap.PAGESIZE
SAMPLED_PAGES = 64
_CACHESTAT = 451  # The same number on every architecture that Linux added it to, but Alpha.
_CHUNK_BYTES = 1 << 30  # Bounds the address space and the result vector of one mincore call.
_LOOP_MAJOR = 7

# Magic numbers of statfs(2), as the kernel's headers and the file systems' own sources give them.
_OVERLAYFS = 0x794C7630
IN_MEMORY = {0x01021994: "tmpfs", 0x858458F6: "ramfs", 0x958458F6: "hugetlbfs"}
"""Filesystems whose files have no other home than memory."""
_OWN_CACHE = {0x2FC12FC1: "ZFS, in its ARC", 0x47504653: "GPFS, in its pagepool"}
_FUSE = 0x65735546
REMOTE = {
    0x00006969: "NFS",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB",
    0x00C36400: "CephFS",
    0x0BD00BD0: "Lustre",
    0x19830326: "BeeGFS",
    0x01021997: "9P",
}
"""Those whose server, too, may keep a file in its memory."""


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _CacheStat(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64)
        for name in ("cached", "dirty", "writeback", "evicted", "recently_evicted")
    )


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int64,
    ]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    return libc


def filesystem_magic(descriptor: int) -> int:
    """Magic number of the file system that holds an open file, by fstatfs(2)."""
    if TELLS_NOTHING:
        return 0
    # The first field is the magic; the rest of the structure differs between architectures.
    buffer = (ctypes.c_long * 64)()
    if _libc().fstatfs(descriptor, ctypes.byref(buffer)) != 0:
        raise OSError(ctypes.get_errno(), "fstatfs failed")
    return int(buffer[0]) & 0xFFFFFFFF


def own_cache(magic: int) -> str | None:
    """Say which file system keeps files outside the page cache, where no call evicts them."""
    name = _OWN_CACHE.get(magic)
    return f"{name}, keeps files where this node cannot look" if name else None


def unseen(magic: int, device: int) -> str | None:
    """Say what beside the page cache, or below it, may hold a file in this node's memory unseen."""
    if TELLS_NOTHING:
        return TELLS_NOTHING
    if magic == _FUSE:
        return "a FUSE file system's daemon may keep the file in memory where no call shows it"
    if os.major(device) == _LOOP_MAJOR:
        loop = Path(f"/sys/dev/block/{_LOOP_MAJOR}:{os.minor(device)}/loop/dio")
        # With direct I/O the device keeps no pages of the image.
        if kernel_text(loop) != "1":
            return "the file lies in an image on a loop device, whose own pages may be in memory"
    return own_cache(magic)


def by_cachestat(descriptor: int, magic: int) -> int | None:
    """Bytes in the page cache, by cachestat(2); None where it refuses, or errs, as on overlayfs."""
    # There the call looks at another inode, and finds no file resident.
    if magic == _OVERLAYFS:
        return None
    whole, found = _Range(0, 0), _CacheStat()
    status = _libc().syscall(
        _CACHESTAT, descriptor, ctypes.byref(whole), ctypes.byref(found), ctypes.c_uint(0)
    )
    return int(found.cached) * PAGE_BYTES if status == 0 else None


def mincore_is_honest(path: Path, owner: int) -> bool:
    """Whether mincore(2) tells this user the truth: to others it calls every page resident."""
    return owner == os.geteuid() or os.access(path, os.W_OK, effective_ids=True)


def by_mincore(descriptor: int, size_bytes: int) -> int | None:
    """Bytes in the page cache, by mincore(2) on a mapping that is never touched; else None."""
    resident_pages = 0
    for offset in range(0, size_bytes, _CHUNK_BYTES):
        length = min(_CHUNK_BYTES, size_bytes - offset)
        pages = -(-length // PAGE_BYTES)
        # Python's own mmap gives no address of a read-only mapping.
        address = _libc().mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, offset)
        # mmap fails with the address -1; None is what ctypes makes of the address 0.
        if address in {None, ctypes.c_void_p(-1).value}:
            return None
        vector = ctypes.create_string_buffer(pages)
        try:
            if _libc().mincore(address, length, vector) != 0:
                return None
        finally:
            _libc().munmap(address, length)
        # Any bit counts as resident: an unknown one must not pass for "cold".
        resident_pages += pages - vector.raw.count(0)
    return resident_pages * PAGE_BYTES


def by_sampling(descriptor: int, size_bytes: int) -> int | None:
    """Estimate the bytes in the page cache from evenly spaced pages, by preadv2(RWF_NOWAIT)."""
    # It reads in what it finds absent: evict again afterwards. None where it is not supported.
    if size_bytes == 0:
        return 0
    pages = -(-size_bytes // PAGE_BYTES)
    samples = min(pages, SAMPLED_PAGES)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)  # No read-ahead around a sample.
    resident = 0
    byte = bytearray(1)
    for sample in range(samples):
        offset = sample * pages // samples * PAGE_BYTES
        try:
            resident += os.preadv(descriptor, [byte], offset, os.RWF_NOWAIT)
        except BlockingIOError:
            # The refusal has begun a read, and a page under way cannot be evicted: await it.
            os.pread(descriptor, 1, offset)
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                return None
            raise
    return round(resident / samples * size_bytes)
