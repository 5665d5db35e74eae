"""What blocks and outliers do to fitted laws: width and coverage of intervals, and refusals.

Prints, for wall times made by a known law, the fit that ignores blocks beside the one that takes
them out, and how often a law that is true is refused. Usage: sim_fits.py [TABLES]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from pyscale.analysis.laws import LawName, fit

COUNTS = np.array([1, 2, 4, 8])
SIGMA, KAPPA = 0.08, 0.005

Noise = Callable[[np.random.Generator, int], "np.ndarray[tuple[int, int], np.dtype[np.float64]]"]
"""Errors of ln T of every block (rows) at every N."""


def own(sd: float) -> Noise:
    """Independent lognormal errors."""
    return lambda random, blocks: random.normal(0, sd, (blocks, len(COUNTS)))


def shared(block_sd: float, sd: float) -> Noise:
    """Errors that all trials of a block share, and their own."""
    return lambda random, blocks: (
        random.normal(0, block_sd, (blocks, 1)) + random.normal(0, sd, (blocks, len(COUNTS)))
    )


def outliers(sd: float, share: float, longer: float) -> Noise:
    """Own errors, and a share of trials that take longer."""
    return lambda random, blocks: (
        random.normal(0, sd, (blocks, len(COUNTS)))
        + np.log(longer) * (random.random((blocks, len(COUNTS))) < share)
    )


NOISES: dict[str, Noise] = {
    "own 2 %": own(0.02),
    "own 10 %": own(0.10),
    "block 8 % + own 2 %": shared(0.08, 0.02),
    "own 2 %, every 10th +50 %": outliers(0.02, 0.1, 1.5),
}


def study(law: LawName, noise: Noise, trials: int, tables: int, *, by_blocks: bool) -> list[str]:
    """Half width, twice the scatter of estimates, coverage and refusals of the serial part."""
    kappa = KAPPA if law == "usl" else 0.0
    name = "sigma" if law == "usl" else "f"
    true_s = np.log(1000 / COUNTS * (1 + SIGMA * (COUNTS - 1) + kappa * COUNTS * (COUNTS - 1)))
    values, widths, covered = [], [], 0
    for seed in range(tables):
        wall_s = np.exp(true_s + noise(np.random.default_rng(seed), trials))
        blocks = np.repeat(np.arange(trials), len(COUNTS)).tolist()
        found = fit(
            law,
            np.tile(COUNTS, trials).tolist(),
            wall_s.ravel().tolist(),
            blocks=blocks if by_blocks else None,
        )
        if (own := found.parameters.get(name)) is not None:
            values.append(own.value)
            widths.append((own.high - own.low) / 2)
            covered += own.low <= SIGMA <= own.high
    refused = f"{1 - len(values) / tables:.0%}"
    if not values:
        return ["-", "-", "-", "-", refused]
    return [
        f"{np.median(values):.4f}",
        f"{np.median(widths):.4f}",
        f"{2 * np.std(values):.4f}",
        f"{covered / len(values):.2f}",
        refused,
    ]


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    tables = int(arguments[0]) if arguments else 200
    print(f"{tables} tables a line; truth {SIGMA}, N = {', '.join(map(str, COUNTS))}")
    head = (
        "law",
        "noise",
        "trials",
        "blocks",
        "median",
        "half width",
        "2 sd",
        "covered",
        "refused",
    )
    line = "{:7} {:26} {:>6} {:>7} {:>7} {:>10} {:>7} {:>7} {:>7}"
    print(line.format(*head))
    laws: tuple[LawName, ...] = ("amdahl", "usl")
    for law in laws:
        for name, noise in NOISES.items():
            for trials in (1, 6, 10):
                for by_blocks in (False, True) if trials > 1 else (False,):
                    if law == "usl" and trials == 1:
                        continue  # Four values of N leave one degree of freedom.
                    cells = study(law, noise, trials, tables, by_blocks=by_blocks)
                    print(line.format(law, name, trials, "yes" if by_blocks else "no", *cells))


if __name__ == "__main__":
    main(sys.argv[1:])
