"""How a rank that has ended is told of.

What started a rank may speak for it, by a file beside the meeting: the launcher on every node
imports this, so it imports nothing heavy.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pyscale_stages.atomic import write_atomically
from pyscale_stages.errors import StageError, short


class LostRank(StageError):  # noqa: N818 - it says what happened
    """Another rank is gone, so that this one cannot go on; the cause lies there."""


def said_of(error: BaseException) -> str:
    """What an error lets a rank say when it ends."""
    if isinstance(error, StageError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "it was interrupted by Ctrl-C"
    said = short(error)
    kind = type(error).__name__
    return f"{kind}: {said}" if said else kind


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


def first_end(meeting: Path, rank: int, count: int) -> tuple[int, str] | None:
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
    return first, sentence.strip()
