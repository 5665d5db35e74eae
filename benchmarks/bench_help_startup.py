"""`pyscale --help` against `python -c "import typer"`: the bar is a ratio of 2."""

from __future__ import annotations

import subprocess
import sys

from paired import compare

REPEATS = 15


def run(*arguments: str) -> None:
    """Run this interpreter and wait for it."""
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    compare(
        ("pyscale --help", 'python -c "import typer"'),
        (lambda: run("-m", "pyscale", "--help"), lambda: run("-c", "import typer")),
        repeats=REPEATS,
    )
