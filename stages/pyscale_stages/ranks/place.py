"""Which paths may be where ranks meet."""

from __future__ import annotations

import os
import sys
from pathlib import Path

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
