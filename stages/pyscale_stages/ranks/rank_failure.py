"""How a rank that fails tells the others, also one that never came to the meeting.

What started a rank may speak for it: a file beside the meeting says how it ended. Every command
line of a rank and the launcher on every node import this, so it imports nothing heavy.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pyscale_stages.atomic import write_atomically
from pyscale_stages.errors import BadInput, StageError, short
from pyscale_stages.measure.spans import process_start_monotonic_s


def ended_file(meeting: Path, rank: int) -> Path:
    """File that says how a rank ended which ended badly."""
    return meeting.with_name(f"{meeting.name}.ended-{rank}")


def tell_end(meeting: Path, rank: int, sentence: str) -> None:
    """Tell all who wait at a meeting how a rank ended, if nobody has told them yet."""
    # Who tells first is nearest to the cause. Nothing is told where the folder is gone.
    file = ended_file(meeting, rank)
    with suppress(OSError):
        if meeting.parent.is_dir() and not file.exists():
            write_atomically(file, sentence + "\n")


def first_end(meeting: Path, rank: int, count: int) -> LastWord | None:
    """Return which other rank ended first of those that ended badly, and how."""
    ends = []
    for other in range(count):
        file = ended_file(meeting, other)
        # None is there as a rule; and a folder that was put away has nothing to tell.
        with suppress(OSError):
            if other != rank:
                ends.append((file.stat().st_mtime_ns, other, file.read_text(encoding="utf-8")))
    if not ends:
        return None
    # Whoever ended later may have done so because of the first.
    _, first, sentence = min(ends)
    return LastWord(first, sentence.strip())


_LONGEST_KEY_BYTES = 255


def may_meet_at(path: Path) -> bool:
    """Whether ranks may meet at a path: else torch would write into it for ever, or spoil it."""
    if path.exists():
        return path.is_file() and os.access(path, os.R_OK | os.W_OK) and _may_be_store(path)
    return path.parent.is_dir() and os.access(path.parent, os.W_OK)


def _may_be_store(path: Path) -> bool:
    # A store begins with the length of a short key; it would be appended to, and removed.
    with path.open("rb") as file:
        first = file.read(4)
    return len(first) < 4 or int.from_bytes(first, sys.byteorder) <= _LONGEST_KEY_BYTES


_CAME: set[Path] = set()
"""Where this process has come: who has says there how it ends."""


def note_coming(meeting: Path) -> None:
    """Remember that this process has come to a meeting."""
    _CAME.add(meeting)


def tell_absence(meeting: Path, rank: int, error: BaseException) -> None:
    """Tell all who wait at a meeting why a rank does not come, unless it came."""
    with suppress(OSError):
        if meeting not in _CAME and may_meet_at(meeting):
            tell_end(meeting, rank, LastWord.of(rank, error).sentence)


def refuse_own_end(meeting: Path, rank: int) -> None:
    """Refuse a meeting at which a rank of this one's number is said to have ended."""
    # The others, who hear of it too, do not come.
    file = ended_file(meeting, rank)
    try:
        said = file.read_text(encoding="utf-8").strip()
    except OSError:
        return
    raise BadInput(
        f"rank {rank} of an earlier attempt has ended according to {file} ({said}): give the "
        "ranks of each attempt another --meeting"
    )


def where_earlier(meeting: Path, rank: int) -> str:
    """What to do where the end of a rank is older than this process, in brackets; else nothing."""
    file = ended_file(meeting, rank)
    start_unix_s = time.time() - time.monotonic() + process_start_monotonic_s()
    try:
        if file.stat().st_mtime >= start_unix_s:
            return ""
    except OSError:
        return ""
    return (
        f" ({file} is older than this rank: if it is of another attempt, give the ranks of each "
        "another --meeting)"
    )


class LostRank(StageError):  # noqa: N818 - it says what happened
    """Another rank is gone, so that this one cannot go on; the cause lies there."""


class LastWord(NamedTuple):
    """What a rank said when it ended with an error of its own."""

    number: int
    sentence: str

    @classmethod
    def of(cls, number: int, error: BaseException) -> LastWord:
        """Return what an error lets a rank say."""
        if isinstance(error, StageError):
            return cls(number, str(error))
        if isinstance(error, KeyboardInterrupt):
            return cls(number, "it was interrupted by Ctrl-C")
        said = short(error)
        kind = type(error).__name__
        return cls(number, f"{kind}: {said}" if said else kind)
