"""Simulated runs: how often drift is said where it is and where it is not.

Runs of N = 1, 2, 4 and 8 in randomised blocks. Noise is each trial's own or shared by a block, as
when other work on the machine lasts for minutes. Every number of a run without the effect in its
column is the rate of false alarms, every other one the power.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from pyscale.analysis.doubts import drifting

COUNTS = (1, 2, 4, 8)
BLOCKS = (6, 10, 20)
CURVES = 200
SEED = 0


class Case(NamedTuple):
    """What is in the wall times of a run, as fractions of them."""

    own: float = 0.03
    shared: float = 0.0
    drift: float = 0.0
    first: float = 0.0


CASES = {
    "own noise of 3 %": Case(),
    "own noise of 10 %": Case(own=0.1),
    "own noise of 2 %, of blocks 8 %": Case(own=0.02, shared=0.08),
    "own noise of 3 %, of blocks 3 %": Case(shared=0.03),
    "drift of 20 % over the run": Case(drift=0.2),
    "drift of 10 %": Case(drift=0.1),
    "drift of 5 %": Case(drift=0.05),
    "first block 10 % slower": Case(first=0.1),
    "first block 30 % slower": Case(first=0.3),
    "first block 30 % slower, drift of 20 %": Case(first=0.3, drift=0.2),
}


def main() -> None:
    """Print for every case and number of blocks what share of curves is said to drift."""
    print(f"{'share of ' + str(CURVES) + ' curves, in %':<40}", end="")
    print("".join(f"{f'{blocks} blocks':>12}" for blocks in BLOCKS))
    for name, case in CASES.items():
        cells = [share(case, blocks) for blocks in BLOCKS]
        print(f"{name:<40}" + "".join(f"{drift:>12.1f}" for drift in cells))


def share(case: Case, blocks: int) -> float:
    """Percentage of curves that are said to drift."""
    random = np.random.default_rng(SEED)
    return 100 * float(
        np.mean([bool(drifting(simulated(case, blocks, random))) for _ in range(CURVES)])
    )


def simulated(case: Case, blocks: int, random: np.random.Generator) -> pl.DataFrame:
    """Trials of one curve, in order of execution."""
    size = len(COUNTS)
    workers = random.permuted(np.tile(COUNTS, (blocks, 1)), axis=1)
    block = np.repeat(np.arange(blocks), size)
    position = np.arange(blocks * size)
    noise = random.lognormal(0, case.own, blocks * size)
    shared = random.lognormal(0, case.shared, blocks)[block]
    grown = (1 + case.drift * position / position[-1]) * (1 + case.first * (block == 0))
    return pl.DataFrame(
        {
            "workers": workers.ravel(),
            "block": block,
            "position": position,
            "wall_s": 100 / workers.ravel() * noise * shared * grown,
        }
    ).with_columns(
        suite=pl.lit("simulated"),
        stage=pl.lit("stage"),
        device=pl.lit(None, dtype=pl.String),
        valid=pl.lit(value=True),
    )


if __name__ == "__main__":
    main()
