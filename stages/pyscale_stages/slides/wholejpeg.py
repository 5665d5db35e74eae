"""Whether a JPEG tile is whole: decoders fill what they cannot decode with grey, silently."""

from __future__ import annotations

import re

_SCAN, _END = 0xDA, 0xD9
_BETWEEN_SCANS = frozenset({_SCAN, 0xC4, 0xDB, 0xDD})
"""Markers that may follow a scan: another, or tables for it."""
_PADDING = b"\0\xff"
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
"""In a scan, 0xff is followed by 0 or by a number from the restart markers, and else a marker."""


def is_whole(data: bytes) -> bool:
    """Find whether the scans of a JPEG image end where they should."""
    # Changed bytes that still decode stay unfound.
    try:
        scan = _scan_after(data, 2)
        while scan:
            found = _MARKER.search(data, scan)
            if found is None:
                return False
            marker = data[found.start() + 1]
            if marker == _END:
                return not data[found.end() :].strip(_PADDING)
            if marker not in _BETWEEN_SCANS:
                return False
            scan = _scan_after(data, found.start())
    except IndexError:
        pass
    return False


def _scan_after(data: bytes, at: int) -> int:
    """Where the next scan begins, past the segments from `at` on; 0 where they are none."""
    while data[at] == 0xFF:
        after = at + 2 + (data[at + 2] << 8) + data[at + 3]
        if data[at + 1] == _SCAN:
            return after
        at = after
    return 0
