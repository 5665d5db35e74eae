"""Strong and weak scaling as one: speedup in work done per second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyscale.analysis.intervals import ratio_interval
from pyscale.analysis.losses import GROUP

if TYPE_CHECKING:
    import polars as pl


def weak_efficiency(base_wall_s: float, wall_s: float) -> float:
    """`T(N0) / T(N)` of a problem that grew as N did (Gustafson 1988, CACM 31:532)."""
    return base_wall_s / wall_s


def scaled_speedup(base_wall_s: float, wall_s: float, *, growth: float) -> float:
    """Work per second over the baseline's, of a problem that is `growth` times the baseline's.

    `growth * T(N0) / T(N)`. With growth = 1 it is the speedup of strong scaling; with growth =
    N / N0, divided by that, the efficiency of weak scaling.
    """
    return growth * base_wall_s / wall_s


def scaled_serial_fraction(speedup: float, workers: int) -> float:
    """Share s of the time on N workers that is serial, `S = N - s (N - 1)` (Gustafson 1988).

    Parameters
    ----------
    speedup : float
        Scaled speedup over one worker.
    workers : int
        N, above 1.
    """
    return (workers - speedup) / (workers - 1)


def scaled_configurations(trials: pl.DataFrame, *, interleaved: bool = True) -> pl.DataFrame:
    """Compare configurations whose problem may have grown with N.

    Parameters
    ----------
    trials : polars.DataFrame
        `suite, stage, device, workers, block, wall_s, valid`, and `work`: how much a trial did,
        in any unit that is the same for a curve, like frames.
    interleaved : bool
        Whether equal blocks ran close in time.

    Returns
    -------
    polars.DataFrame
        One row per configuration with a timed trial, curves in the order of `trials`, each by
        rising worker count:

        suite, stage, device, workers, baseline_workers
        work : float
            Median over trials.
        scaling : str
            Of the curve: "strong" where the work is the same at every N, "weak" where it is the
            same per worker, else "mixed"; null with one N.
        wall_s, scaled_speedup, scaled_speedup_low, scaled_speedup_high : float
            Median T(N); work per second over the baseline's, and its bootstrap interval.
        scaled_efficiency : float
            `scaled_speedup * N0 / N`: the efficiency of strong and of weak scaling alike.
        serial_fraction : float
            Gustafson's; only where the scaling is weak and N0 is 1.
    """
    import polars as pl

    rows: list[dict[str, Any]] = []
    for key, curve in trials.filter("valid").group_by(GROUP, maintain_order=True):
        groups = curve.sort("workers", "block").group_by("workers", maintain_order=True)
        owns = [own for _, own in groups]
        base = owns[0]
        kind = _scaling([(own["workers"][0], own["work"].to_list()) for own in owns])
        rows += [
            {
                **dict(zip(GROUP, key, strict=True)),
                "scaling": kind,
                **_row(own, base, is_weak=kind == "weak", interleaved=interleaved),
            }
            for own in owns
        ]
    return pl.DataFrame(
        rows,
        schema={
            **dict.fromkeys(GROUP, pl.String),
            "workers": pl.Int64,
            "baseline_workers": pl.Int64,
            "work": pl.Float64,
            "scaling": pl.String,
            "wall_s": pl.Float64,
            "scaled_speedup": pl.Float64,
            "scaled_speedup_low": pl.Float64,
            "scaled_speedup_high": pl.Float64,
            "scaled_efficiency": pl.Float64,
            "serial_fraction": pl.Float64,
        },
    )


def _row(
    own: pl.DataFrame, base: pl.DataFrame, *, is_weak: bool, interleaved: bool
) -> dict[str, Any]:
    workers, base_workers = int(own["workers"][0]), int(base["workers"][0])
    work, base_work = float(own["work"].to_numpy().mean()), float(base["work"].to_numpy().mean())
    wall_s, base_wall_s = _median(own), _median(base)
    speedup = scaled_speedup(base_wall_s, wall_s, growth=work / base_work)
    row = {
        "workers": workers,
        "baseline_workers": base_workers,
        "work": work,
        "wall_s": wall_s,
        "scaled_speedup": speedup,
        "scaled_efficiency": speedup * base_workers / workers,
    }
    if workers == base_workers:
        return row
    if is_weak and base_workers == 1:
        row["serial_fraction"] = scaled_serial_fraction(speedup, workers)
    paired = interleaved and base["block"].to_list() == own["block"].to_list()
    found = ratio_interval(base["wall_s"].to_list(), own["wall_s"].to_list(), paired=paired)
    if found:
        row["scaled_speedup_low"] = found.low * work / base_work
        row["scaled_speedup_high"] = found.high * work / base_work
    return row


def _scaling(worked: list[tuple[int, list[float]]]) -> str | None:
    """Name how the work of a curve grew with N."""
    if len(worked) < 2:
        return None
    if len({work for _, works in worked for work in works}) == 1:
        return "strong"
    if len({work / workers for workers, works in worked for work in works}) == 1:
        return "weak"
    return "mixed"


def _median(trials: pl.DataFrame) -> float:
    from statistics import median

    return float(median(trials["wall_s"].to_list()))
