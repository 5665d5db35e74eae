"""The folder whose storage is measured: its checks and errors, and a folder for test files."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from types import FrameType
from typing import Any

from pyscale_stages.errors import BadInput, ResourceExhausted, StageError
from pyscale_stages.measure.mounts import filesystem_of
from pyscale_stages.measure.pagecache import Eviction
from pyscale_stages.task import Task
from pyscale_stages.wording import size_in_words

SPARE_SHARE = 0.05
"""Room that is wanted beyond the files: a full filesystem is slow, and its blocks are whole."""
IN_MEMORY = {"tmpfs", "ramfs", "hugetlbfs"}
"""Filesystems whose files lie in memory."""
_GIVE = "name another one, as in --input place=FOLDER"
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, how a batch system ends a task, and a closed terminal."""


def place_of(task: Task) -> Path:
    """Folder to measure: the one that is given, or the output's."""
    given = task.input("place")
    if given is None:
        with in_words(task.output, "free space there"):
            task.output.mkdir(parents=True, exist_ok=True)
    place = ready(given or task.output, "the place")
    task.versions |= filesystem_versions(place, "place")
    return place


def ready(folder: Path, what: str, give: str = _GIVE) -> Path:
    """Return a folder as an absolute path; refuse one that is not there or not writable."""
    folder = folder.expanduser().absolute()
    if not folder.is_dir():
        raise BadInput(f"{what} {folder} does not exist or is not a folder: {give}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadInput(f"{what} {folder} is not writable: {give}")
    return folder


def cache_of(
    task: Task, place: Path, given: Path | None, needed_bytes: int
) -> tuple[Path | None, str]:
    """Folder of a cache device: the one given, else the node's scratch; or why there is none."""
    key = f"cache_folder of stages.{task.stage.name}"
    scratch = Path(tempfile.gettempdir())
    cache = scratch if given is None else ready(given, "the cache_folder", f"name another {key}")
    one_filesystem = cache.stat().st_dev == place.stat().st_dev
    if given is None:
        why_not = ""
        if one_filesystem:
            why_not = "lies on the filesystem that is measured"
        elif filesystem_of(scratch).fs_type in IN_MEMORY:
            why_not = "lies in memory"
        elif shutil.disk_usage(scratch).free < with_spare(needed_bytes):
            why_not = f"has not the room of {size_in_words(with_spare(needed_bytes))}"
        if why_not:
            return None, f"the node's scratch folder (TMPDIR) {why_not}: name a {key}"
    elif one_filesystem:
        task.warn(
            "cache_folder lies on the filesystem of the place, so no second one is measured",
            "one-filesystem",
        )
    task.versions |= filesystem_versions(cache, "cache")
    return cache, ""


def warn_of_unproved(task: Task, evictions: Iterable[Eviction]) -> None:
    """Say once why a file may lie in the page cache although it was driven out of it."""
    for eviction in evictions:
        if eviction.reason and all(said.code != "perhaps-cached" for said in task.warned):
            # Reasons name the file, which nobody else knows.
            reason = eviction.reason.replace(str(eviction.path), eviction.path.name)
            task.warn(
                f"files may not have been read from storage ({eviction.state}): {reason}",
                "perhaps-cached",
            )


def with_spare(n_bytes: int) -> int:
    """Room that test files of so many bytes want, in bytes."""
    return int(n_bytes * (1 + SPARE_SHARE))


def refuse_lack_of_space(needed: Mapping[Path, int], lower: str) -> None:
    """Refuse folders whose filesystems have not the room, in bytes, that files in them need."""
    by_device: dict[int, list[Path]] = {}
    for folder in needed:
        by_device.setdefault(folder.stat().st_dev, []).append(folder)
    for folders in by_device.values():
        wanted = with_spare(sum(needed[folder] for folder in folders))
        free = shutil.disk_usage(folders[0]).free
        if wanted > free:
            raise ResourceExhausted(
                f"the test files need {size_in_words(wanted)}, but {folders[0]} has "
                f"{size_in_words(free)} free: free space there, name another place, or {lower}"
            )


@contextmanager
def in_words(place: Path, lower: str) -> Iterator[None]:
    """Say in one sentence what the filesystem of a place answered."""
    try:
        yield
    except OSError as error:
        # Without a number it is not the kernel that speaks, but a library, and of something else.
        if error.errno is None:
            raise
        raise _sentence(error, place, lower) from error


def filesystem_versions(place: Path, prefix: str) -> dict[str, str]:
    """Describe the filesystem of a folder, for the record."""
    found = filesystem_of(place)
    said = {
        "filesystem": found.fs_type,
        "device": found.device,
        "options": ",".join(found.options),
        "scheduler": found.scheduler,
        "rotational": "" if found.rotational is None else str(found.rotational).lower(),
        "read_ahead_bytes": "" if found.read_ahead_bytes is None else str(found.read_ahead_bytes),
        "unknown_because": found.reason,
    }
    return {f"{prefix}_{name}": text for name, text in said.items() if text}


def _sentence(error: OSError, place: Path, lower: str) -> StageError:
    said = error.strerror or type(error).__name__
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return ResourceExhausted(
            f"the filesystem of {place} is full, or its quota is used up ({said}): free space "
            f"there, or {lower}"
        )
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        return ResourceExhausted(
            f"too many open files for this task: {lower}, or raise the limit by ulimit -n"
        )
    kind = BadInput if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS} else StageError
    return kind(
        f"the filesystem of {place} reported an error ({said}): check its health, and that "
        f"nothing else cleans that folder, or {_GIVE}"
    )


@contextmanager
def scratch_folder(place: Path, stage: str, warn: Callable[[str], None]) -> Iterator[Path]:
    """Make a folder inside a place and remove it, also where the task is ended by a signal."""
    # Named before it is made: a signal in between finds it below.
    folder = place / f".pyscale-{stage}-{token_hex(4)}"
    with _endings_raise() as no_more:
        try:
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            no_more()
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():
                warn(f"{folder} could not be removed: remove it by hand")


@contextmanager
def _endings_raise() -> Iterator[Callable[[], None]]:
    """Let signals that end a task raise in the block, until it says that it clears up."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None  # only the main thread may say what a signal does
        return
    earlier: dict[signal.Signals, Any] = {
        each: signal.getsignal(each)
        for each in ENDINGS
        # Who starts a task by nohup, or behind a shell's back, wants it not to hear.
        if signal.getsignal(each) not in {signal.SIG_IGN, None}
    }

    def answer(what: Any) -> None:
        for each in earlier:
            signal.signal(each, what)

    def end(number: int, _frame: FrameType | None) -> None:
        answer(signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    try:
        answer(end)
        yield lambda: answer(signal.SIG_IGN)
    finally:
        for each, handler in earlier.items():
            signal.signal(each, handler)
