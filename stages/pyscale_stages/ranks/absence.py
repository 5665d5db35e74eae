"""Ranks that end before they come to their meeting: how the others hear of it, also later.

It is imported by every command line that names a rank which fails, so it imports nothing heavy.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from pyscale_stages.errors import BadInput
from pyscale_stages.measure.spans import process_start_monotonic_s
from pyscale_stages.ranks.ended import ended_file, tell_end
from pyscale_stages.ranks.parting import LastWord
from pyscale_stages.ranks.place import may_meet_at

_CAME: set[Path] = set()
"""Where this process has come: who has says there how it ends."""


def note_coming(meeting: Path) -> None:
    """Remember that this process has come to a meeting."""
    _CAME.add(meeting)


def tell_absence(meeting: Path, rank: int, error: BaseException) -> None:
    """Tell all who wait at a meeting why a rank does not come, unless it came.

    Nothing is told where ranks could not meet at all: the others find that out themselves.

    Parameters
    ----------
    meeting : Path
    rank : int
        Which one this process is, from 0.
    error : BaseException
        What ends it.
    """
    with suppress(OSError):
        if meeting not in _CAME and may_meet_at(meeting):
            tell_end(meeting, rank, LastWord.of(rank, error).sentence)


def refuse_own_end(meeting: Path, rank: int) -> None:
    """Refuse a meeting at which a rank of this one's number is said to have ended.

    The others, who hear of it too, do not come: they would be waited for in vain.

    Raises
    ------
    BadInput
        If there is such a word.
    """
    file = ended_file(meeting, rank)
    try:
        said = file.read_text(encoding="utf-8").strip()
    except OSError:
        return
    raise BadInput(
        f"rank {rank} of an earlier attempt has ended, as {file} says ({said}): give the ranks of "
        "each attempt another --meeting"
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
        f" (so says {file} since before this rank was started: where that was another attempt, "
        "give the ranks of each another --meeting)"
    )
