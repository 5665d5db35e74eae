"""Files beside a meeting that say how ranks ended which could not say so in it.

What started a rank writes its file, or the rank itself where it ends before it has come.

It is read and written before anything heavy is imported: the launcher does so on every node.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pyscale_stages.atomic import write_atomically


def ended_file(meeting: Path, rank: int) -> Path:
    """File that says how a rank ended which ended badly."""
    return meeting.with_name(f"{meeting.name}.ended-{rank}")


def tell_end(meeting: Path, rank: int, sentence: str) -> None:
    """Tell all who wait at a meeting how a rank ended, if nobody has told them yet.

    Who tells first is nearest to the cause: a rank speaks before what started it.

    Nothing is told where the folder of the meeting is gone, or cannot be written: those who wait
    do so until their timeout, and the rank's own record is written all the same.
    """
    file = ended_file(meeting, rank)
    with suppress(OSError):
        if meeting.parent.is_dir() and not file.exists():
            write_atomically(file, sentence + "\n")


def first_end(meeting: Path, rank: int, count: int) -> tuple[int, str] | None:
    """Return which other rank ended first of those that ended badly, and how.

    Parameters
    ----------
    meeting : Path
    rank : int
        The one that asks, from 0.
    count : int
        How many ranks there are.
    """
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
    return first, sentence.strip()
