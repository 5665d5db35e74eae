"""How often verdicts of `pyscale compare` are right and wrong, on simulated wall times.

Half a minute on one core. The seed is fixed, so that it prints the
figures of docs/decisions/2026-11-21-what-better-worse-and-same-mean.md again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pyscale.analysis.judging import judge

Array = np.ndarray[Any, np.dtype[np.float64]]
Noise = Callable[[np.random.Generator, tuple[int, ...]], Array]
SLOW = {"worse", "slower"}
COMPARISONS = 1000


def lognormal(deviation: float) -> Noise:
    """Times of trials that do not depend on each other."""
    return lambda random, shape: random.lognormal(0, deviation, shape)


def with_outliers(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """2 % of noise, and one trial in ten that takes half as long again."""
    return random.lognormal(0, 0.02, shape) * np.where(random.random(shape) < 0.1, 1.5, 1)


def in_a_row(correlation: float) -> Noise:
    """5 % of noise that each trial shares in part with the one before it."""

    def drawn(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        own = random.normal(0, 0.05, shape)
        for trial in range(1, shape[-1]):
            kept = np.sqrt(1 - correlation**2) * own[..., trial]
            own[..., trial] = correlation * own[..., trial - 1] + kept
        return np.asarray(np.exp(own))

    return drawn


NOISES: Mapping[str, Noise] = {
    "lognormal 2 %": lognormal(0.02),
    "lognormal 10 %": lognormal(0.1),
    "2 % and outliers": with_outliers,
    "5 %, correlated by 0.7": in_a_row(0.7),
}


def seen(
    noise: Noise,
    trials: int,
    factors: Sequence[float] = (1.0,),
    *,
    session: float = 0.0,
    paired: bool = False,
) -> dict[str, float]:
    """Share of comparisons, in percent, in which any configuration has each verdict.

    Parameters
    ----------
    factors : sequence of float
        How many times as long each configuration takes in the new version.
    session : float
        Standard deviation of the speed of the machine between sessions. Runs are sessions.
    paired : bool
        Both versions are timed in the same blocks, each of which is a session.
    """
    random = np.random.default_rng(1)
    found: list[set[str]] = []
    for _ in range(COMPARISONS):
        of_session = random.lognormal(0, session, (1, 1, trials) if paired else (2, 1, 1))
        times_s = of_session * noise(random, (2, len(factors), trials))
        times_s[1] *= np.reshape(factors, (-1, 1))
        arms = [(base.tolist(), new.tolist()) for base, new in zip(*times_s, strict=True)]
        found.append({own.verdict for own in judge(arms, paired=paired)})
    shares = dict.fromkeys(("worse", "slower or worse", "same", "not enough data"), 0.0)
    for verdicts in found:
        said = verdicts | ({"slower or worse"} if SLOW & verdicts else set())
        for verdict in said & shares.keys():
            shares[verdict] += 100 / COMPARISONS
    return shares


def line(name: str, shares: Mapping[str, float], *verdicts: str) -> None:
    """Print some of the shares."""
    print(f"{name:<44}" + "".join(f"{verdict} {shares[verdict]:5.1f} %   " for verdict in verdicts))


def main() -> None:
    """Print every figure that the docs state."""
    alarms = ("slower or worse", "worse")
    print("Nothing changed: comparisons in which any configuration is called")
    for name, noise in NOISES.items():
        for count in (1, 4):
            for trials in (6, 10):
                shares = seen(noise, trials, (1.0,) * count)
                line(f"  {name}, K = {count}, {trials} trials", shares, *alarms)
    print("\nTruly 2 % slower, which does not count")
    for percent in (1, 2, 3, 5):
        for trials in (6, 10, 20):
            shares = seen(lognormal(percent / 100), trials, (1.02,))
            line(f"  lognormal {percent} %, {trials} trials", shares, *alarms)
    for slower in (1.1, 1.2):
        print(f"\nTruly {100 * (slower - 1):.0f} % slower")
        for name, noise in (
            ("lognormal 2 %", lognormal(0.02)),
            ("lognormal 5 %", lognormal(0.05)),
            ("lognormal 10 %", lognormal(0.1)),
            ("2 % and outliers", with_outliers),
        ):
            for trials in (6, 10, 20):
                line(f"  {name}, {trials} trials", seen(noise, trials, (slower,)), *alarms)
    print("\nNothing changed, lognormal 3 %: same")
    for trials in (6, 10, 20):
        line(f"  {trials} trials", seen(lognormal(0.03), trials), "same", "not enough data")
    print("\nThe machine's speed differs between sessions; 2 % of noise, K = 4, 10 trials")
    for session in (0.01, 0.03, 0.05):
        for paired, how in ((False, "two runs"), (True, "the same blocks")):
            equal, slow = (
                seen(lognormal(0.02), 10, (factor,) * 4, session=session, paired=paired)
                for factor in (1.0, 1.1)
            )
            line(f"  {100 * session:.0f} %, {how}: nothing changed", equal, *alarms)
            line(f"  {100 * session:.0f} %, {how}: truly 10 % slower", slow, *alarms)


if __name__ == "__main__":
    main()
