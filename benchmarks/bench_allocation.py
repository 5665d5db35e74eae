"""Claim: where a job waits a minute in the queue, one held job takes a tenth of the time or less.

The same suite, on a cluster of two nodes on this machine, once as jobs of each trial (--allocation
each) and once in one job (--allocation hold), one way after the other. Nobody else uses this
cluster, so the wait is computed: a minute is added to the measured wall time for each submission
of a trial's tasks, which wait for those before, or for each allocation.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np

from paired import seconds
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale_stages.moviewriter import write_movie
from slurm.cluster import running_cluster

WAIT_S = 60.0
BAR = 0.1
FRAMES = 8
SITE = """\
name = "here"
summary = "two nodes on this machine"

[request]
partition = "cpu"
memory_gib = 1
time_min = 30
"""


def main() -> None:
    """Run both ways and print their ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--workers", default="1,2,4")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, running_cluster() as cluster:
        os.environ |= cluster.environment
        home = Path(scratch)
        movie = home / "labels.ome.tif"
        frames = np.zeros((FRAMES, 48, 48), np.uint16)
        frames[:, 4:12, 4:12] = 1
        frames[:, 4:12, 12:20] = 2
        write_movie(movie, frames, "TYX")
        (home / "site.toml").write_text(SITE)
        lasts_s = {way: _lasts_s(home, movie, way, given) for way in ("hold", "each")}
    ratio = lasts_s["hold"] / lasts_s["each"]
    print(f"hold / each with a wait of {WAIT_S:.0f} s a job: {ratio:.3f} (bar {BAR})")


def _lasts_s(home: Path, movie: Path, way: str, given: argparse.Namespace) -> float:
    """Run the suite one way; return its wall time with the waits that it would have had."""
    os.environ["PYSCALE_RUNS_FOLDER"] = str(home / way)
    command = [
        *(sys.executable, "-m", "pyscale", "run", "labels", "--data", str(movie)),
        *("--workers", given.workers, "--repeats", str(given.repeats), "--executor", "slurm"),
        *("--site", str(home / "site.toml"), "--allocation", way),
    ]
    wall_s = seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))
    (path,) = (home / way).iterdir()
    run = RunFolder(path)
    kind = "allocation_submitted" if way == "hold" else "submitted"
    waits = sum(event.kind == kind for event in Journal(run.journal_file).read())
    print(
        f"{way}: {len(run.plan.trials)} trials in {wall_s:.0f} s of wall time; {waits} submissions "
        f"of {WAIT_S:.0f} s wait each make it {wall_s + waits * WAIT_S:.0f} s"
    )
    return wall_s + waits * WAIT_S


if __name__ == "__main__":
    main()
