"""How a rank that has ended is told of.

What started a rank speaks for it, by a file beside the meeting: the launcher on every node imports
this, so it imports nothing heavy.
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


def tell_end(meeting: Path, sentence: str) -> None:
    """Tell all who wait at a meeting how a rank ended, if they were told of none yet."""
    # Whoever ended later may have done so because of the first. Nothing is told where the folder
    # is gone.
    file = _ended_file(meeting)
    with suppress(OSError):
        if meeting.parent.is_dir() and not file.exists():
            write_atomically(file, sentence + "\n")


def first_end(meeting: Path) -> str | None:
    """Which rank ended first of those that ended badly, and how."""
    with suppress(OSError):
        return _ended_file(meeting).read_text(encoding="utf-8").strip()
    return None


def _ended_file(meeting: Path) -> Path:
    return meeting.with_name(f"{meeting.name}.ended")
