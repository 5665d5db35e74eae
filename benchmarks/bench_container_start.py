"""Claim: a container adds less than half a second to the start of a task's process.

Both start the interpreter that the stage contact runs in and end at once: natively, and in its
image with the options of the runtime, its libraries not imported.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from paired import compare
from pyscale.images.engine import find_engine
from pyscale.images.lockfile import ImageFolder
from pyscale.settings import load_settings
from pyscale_stages.binds import OPTIONS, task_binds
from pyscale_stages.errors import MissingPart

REPEATS = 25
BAR_S = 0.5
IMAGE = "contact"
NOTHING = ("python", "-c", "pass")


def main() -> int:
    """Print both medians, their ratio and difference; fail above the bar.

    Where there is no container program or no image, nothing is claimed and nothing fails.
    """
    images = ImageFolder(load_settings().images_folder)
    try:
        engine = find_engine()
    except MissingPart as error:
        print(f"not measured: {error}", file=sys.stderr)
        return 0
    if not images.sif(IMAGE).is_file():
        print(f"not measured: no image {IMAGE} in {images.path}", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        options = [*OPTIONS, "--pwd", folder]
        for bind in task_binds(Path(folder), []):
            options += bind.option()
        contained = engine.command("exec", *options, str(images.sif(IMAGE)), *NOTHING)
        native = [sys.executable, *NOTHING[1:]]
        times = compare(
            (f"{engine.named} exec {IMAGE}.sif", "native"),
            (lambda: run(contained), lambda: run(native)),
            repeats=REPEATS,
        )
    added_s = statistics.median(times[0]) - statistics.median(times[1])
    print(f"added {added_s:.3f} s, bar {BAR_S} s")
    return 0 if added_s <= BAR_S else 1


def run(command: list[str]) -> None:
    """Run a command whose talk does not matter."""
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
