"""Claim: a window of a step of one's own takes at most 0.5 s longer than its command alone.

The command copies a file of a few bytes. By itself it is started as a shell loop would, without a
shell, and by hyperfine where that is installed; in a window the process of pyscale starts it, looks
at its output and writes its record. The ways take turns.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

REPEATS = 20
BAR_S = 0.5


def main() -> int:
    """Print medians and how much longer each way takes than the command; fail above the bar."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "table.csv"
        source.write_text("a,b\n1,2\n", encoding="utf-8")
        (folder / "params.json").write_text(
            json.dumps(
                {
                    "command": ["cp", "{input}", "{output}"],
                    "folder": name,
                    "output": "table.csv",
                }
            ),
            encoding="utf-8",
        )
        plain = ["cp", str(source), str(folder / "copy.csv")]
        ways: dict[str, Callable[[], float]] = {
            "command": lambda: seconds(plain),
            "window": lambda: window(folder, source),
        }
        if shutil.which("hyperfine"):
            once = ["hyperfine", "--shell=none", "--runs=1", "--style=none", " ".join(plain)]
            ways["hyperfine"] = lambda: seconds(once)
        times: dict[str, list[float]] = {way: [] for way in ways}
        for repeat in range(REPEATS + 1):
            for way in ways if repeat % 2 else reversed(ways):
                took_s = ways[way]()
                if repeat:
                    times[way].append(took_s)
    medians = {way: statistics.median(values) for way, values in times.items()}
    for way, values in times.items():
        more_s = medians[way] - medians["command"]
        spread = f"[{min(values):.3f}, {max(values):.3f}]"
        print(
            f"{way:<10} median {medians[way]:.3f} s {spread}, {more_s:.3f} s more than the command"
        )
    if "hyperfine" not in ways:
        print("hyperfine is not installed here: it was left out")
    print(f"{REPEATS} repeats")
    return int(medians["window"] - medians["command"] > BAR_S)


def window(folder: Path, source: Path) -> float:
    """One window as a run starts it, from an empty folder."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    line = [sys.executable, "-m", "pyscale_stages", "command", "run"]
    line += ["--input", f"input={source}", "--output", str(folder / "out"), "--frames", "0:1"]
    line += ["--movie-frames", "1", "--params", str(folder / "params.json")]
    return seconds([*line, "--result", str(folder / "result.json")])


def seconds(line: list[str]) -> float:
    """Wall time of a command that succeeds."""
    begin = time.perf_counter()
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


if __name__ == "__main__":
    sys.exit(main())
