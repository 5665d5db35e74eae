"""Small files below /proc and /sys, many of which exist on some machines only."""

from __future__ import annotations

from pathlib import Path


def kernel_text(file: Path) -> str:
    """Content of a file of the kernel, stripped; empty where the kernel has or shows none."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
