"""New processes and warm workers side by side, in one run of the pipeline at N = 1 and 2.

Bars: what a warm window takes beside computing, reading and writing is at most 0.1 s; efficiency
at N = 2 is 0.95 or more with warm workers, on a movie that takes minutes. Run it on a machine
with two cores that nothing else uses: `python benchmarks/bench_warm_start.py --frames 200`.
With `--runtime apptainer` the images must have been built from this code.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

BAR_S = 0.1
GOAL = 0.95
WORK = ("compute", "read", "write")
"""Phases that are the window's own work, however it was started."""


def main() -> None:
    """Make a movie, run the pipeline both ways, and print what each window and each N took."""
    asked = _arguments()
    with tempfile.TemporaryDirectory(prefix="pyscale-warm-") as scratch:
        folder = Path(scratch)
        size = ("--frames", asked.frames, "--size", asked.size)
        _pyscale(folder, "data", "synth", "movie", *size, "--data-folder", folder)
        movie = next(folder.rglob("movie.ome.tif"))
        _pyscale(
            *(folder, "run", "pipeline", "--data", movie, "--start", "cold,warm"),
            *("--workers", "1,2", "--repeats", asked.repeats, "--runtime", asked.runtime),
            *(word for stage in asked.only for word in ("--only", stage)),
        )
        (run,) = (folder / "runs").iterdir()
        _print_windows(run)
        _print_efficiency(run)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", default="24")
    parser.add_argument("--size", default="256")
    parser.add_argument("--repeats", default="3")
    parser.add_argument("--runtime", choices=("native", "apptainer"), default="native")
    parser.add_argument("--only", action="append", default=[])
    return parser.parse_args()


def _pyscale(folder: Path, *words: object) -> None:
    command = [sys.executable, "-m", "pyscale", *map(str, words)]
    subprocess.run(command, cwd=folder, check=True)


def _print_windows(run: Path) -> None:
    """Median over the windows: wall time, the work in it, and the rest."""
    spans = pl.read_parquet(run / "spans.parquet").filter(pl.col("phase").is_in(WORK))
    work = spans.group_by("trial", "task").agg(work_s=pl.col("wall_s").sum())
    windows = (
        pl.read_parquet(run / "tasks.parquet")
        .filter(pl.col("verb") == "run")
        .join(work, on=["trial", "task"], how="left")
        .with_columns(rest_s=pl.col("wall_s") - pl.col("work_s"))
        .group_by("family", "workers", "start", maintain_order=True)
        .agg(
            pl.len().alias("windows"),
            pl.col("wall_s", "work_s", "rest_s", "cpu_s", "worker_start_s").median(),
        )
        .sort("family", "workers", "start")
    )
    print(
        f"{'stage':<18}{'N':>2} {'start':<5}{'windows':>8}  wall s  work s  rest s   CPU s  start s"
    )
    for row in windows.iter_rows(named=True):
        started = "" if row["worker_start_s"] is None else f"{row['worker_start_s']:9.2f}"
        over = " over the bar" if row["start"] == "warm" and row["rest_s"] > BAR_S else ""
        print(
            f"{row['family']:<18}{row['workers']:>2} {row['start']:<5}{row['windows']:>8}"
            f"{row['wall_s']:8.3f}{row['work_s']:8.3f}{row['rest_s']:8.3f}{row['cpu_s']:8.3f}"
            f"{started}{over}"
        )


def _print_efficiency(run: Path) -> None:
    """Efficiency at N = 2 of each entry, which has the merge in it."""
    table = pl.read_csv(run / "report" / "benchmark_results_aggregated.csv")
    for row in table.filter(pl.col("workers") == 2).iter_rows(named=True):
        efficiency = row["efficiency"]
        below = " below the goal" if efficiency < GOAL and row["stage"].endswith("_warm") else ""
        print(f"{row['stage']:<24} N = 2: efficiency {efficiency:.3f}{below}")


if __name__ == "__main__":
    main()
