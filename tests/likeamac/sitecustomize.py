"""Takes away what macOS lacks, from each Python that has this folder in PYTHONPATH."""

import fcntl
import functools
import mmap
import os
import resource
import select
import signal
import sys
import time

import psutil

ABSENT = {
    os: (
        *("sched_getaffinity", "sched_setaffinity", "sched_yield", "posix_fadvise"),
        *("posix_fallocate", "pipe2", "memfd_create", "pidfd_open", "eventfd", "waitid"),
        *("fdatasync", "copy_file_range", "getxattr", "setxattr", "listxattr", "splice"),
        *("getresuid", "O_DIRECT", "O_PATH", "O_TMPFILE", "RWF_NOWAIT"),
    ),
    time: ("CLOCK_BOOTTIME", "pthread_getcpuclockid"),
    mmap: ("MAP_POPULATE",),
    fcntl: ("F_SETPIPE_SZ", "F_GETPIPE_SZ", "F_OFD_SETLK"),
    signal: ("sigtimedwait", "sigwaitinfo", "SIGPWR", "SIGRTMIN", "SIGRTMAX"),
    resource: ("prlimit", "RUSAGE_THREAD"),
    select: ("epoll",),
    psutil.Process: ("cpu_affinity", "io_counters", "rlimit", "ionice", "cpu_num", "memory_maps"),
}
FOLDERS = ("/proc", "/sys", "/dev/shm")
OTHERWISE = ("psutil", "multiprocessing")
"""On a Mac these ask for other things."""
FUNCTIONS = ("prctl", "inotify_init1", "inotify_add_watch")
"""Of the C library."""


def _refuse(event, arguments):
    if event in {"open", "os.listdir", "os.scandir"}:
        _refuse_path(arguments[0])
    elif event == "ctypes.dlsym" and arguments[1] in FUNCTIONS:
        raise AttributeError(arguments[1])


def _refuse_path(path):
    if isinstance(path, (str, bytes, os.PathLike)):
        name = os.fsdecode(path)
        if name.startswith(FOLDERS) and not _asked_otherwise():
            raise FileNotFoundError(2, os.strerror(2), name)


def _refusing(function):
    @functools.wraps(function)
    def instead(path, *words, **named):
        _refuse_path(path)
        return function(path, *words, **named)

    return instead


def _asked_otherwise():
    frame = sys._getframe()
    while frame:
        if frame.f_globals.get("__name__", "").partition(".")[0] in OTHERWISE:
            return True
        frame = frame.f_back
    return False


def _take_away():
    for module, names in ABSENT.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    # Python tells a hook of these what is opened and listed, but not what is looked at.
    for name in ("stat", "lstat", "readlink"):
        setattr(os, name, _refusing(getattr(os, name)))
    sys.addaudithook(_refuse)


_take_away()
