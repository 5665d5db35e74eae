"""How ranks part: a rank's last words, and the error of those that it leaves."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from pyscale_stages.errors import StageError


class LostRank(StageError):  # noqa: N818 - it says what happened
    """Another rank is gone, so that this one cannot go on; the cause lies there."""


@dataclass(frozen=True)
class LastWord:
    """What a rank said when it ended with an error of its own."""

    number: int
    """Of the rank, from 0."""
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

    def written(self) -> str:
        """Return it as JSON."""
        return json.dumps([self.number, self.sentence])

    @classmethod
    def read(cls, text: str | bytes) -> LastWord:
        """Return what `written` gave."""
        return cls(*json.loads(text))


def short(error: BaseException) -> str:
    """First sentence of what an error of torch says, without the place in its source."""
    first_line = str(error).strip().partition("\n")[0]
    return re.sub(r"^\[[^\]]*\] *", "", first_line).partition(". ")[0].rstrip(".")
