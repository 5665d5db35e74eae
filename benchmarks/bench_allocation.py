"""Claim: where a job waits a minute in the queue, one held job takes a tenth of the time or less.

The same suite, on a cluster of two nodes on this machine, once as jobs of each trial (--allocation
each) and once in one job (--allocation hold), one way after the other. Nobody else uses this
cluster, so the wait is computed: a minute is added to the measured wall time for each allocation,
or for each submission of a trial's tasks. Those that are queued behind others wait at the same time
where Slurm lets held jobs age: then a minute is added only for those that found the queue empty.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np

from paired import seconds
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Event, Journal
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
        hold = _lasts_s(home, movie, "hold", given)
        each = _lasts_s(home, movie, "each", given)
    for how, hold_s, each_s in zip(
        (f"one by one (bar {BAR})", "together"), hold, each, strict=True
    ):
        print(f"hold / each, jobs wait {WAIT_S:.0f} s {how}: {hold_s / each_s:.3f}")


def _lasts_s(home: Path, movie: Path, way: str, given: argparse.Namespace) -> tuple[float, float]:
    """Run the suite one way; its wall time with waits one by one, and with those that overlap."""
    os.environ["PYSCALE_RUNS_FOLDER"] = str(home / way)
    command = [
        *(sys.executable, "-m", "pyscale", "run", "labels", "--data", str(movie)),
        *("--workers", given.workers, "--repeats", str(given.repeats), "--executor", "slurm"),
        *("--site", str(home / "site.toml"), "--allocation", way),
    ]
    wall_s = seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))
    (path,) = (home / way).iterdir()
    run = RunFolder(path)
    submissions, empty = _waits(Journal(run.journal_file).read(), way)
    print(
        f"{way}: {len(run.plan.trials)} trials in {wall_s:.0f} s of wall time; {submissions} "
        f"submissions, of which {empty} found the run's queue empty"
    )
    return wall_s + submissions * WAIT_S, wall_s + empty * WAIT_S


def _waits(events: Sequence[Event], way: str) -> tuple[int, int]:
    """How many submissions there were, and how many while nothing of the run was in the queue."""
    if way == "hold":
        allocations = sum(event.kind == "allocation_submitted" for event in events)
        return allocations, allocations
    submissions = empty = 0
    queued: set[str | None] = set()
    for event in events:
        if event.kind == "submitted":
            submissions += 1
            empty += not queued
            queued.add(event.trial)
        elif event.kind == "trial_finished":
            queued.discard(event.trial)
    return submissions, empty


if __name__ == "__main__":
    main()
