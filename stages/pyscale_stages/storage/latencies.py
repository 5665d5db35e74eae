"""Percentiles of latencies, as far as the number of samples bears them."""

from __future__ import annotations

from collections.abc import Sequence

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def latency_details(latency_ns: Sequence[int]) -> dict[str, float]:
    """Give percentiles, mean and maximum in seconds.

    A percentile is a latency that was observed, the smallest that at least this share of the
    samples do not exceed. It is left out where no sample lies beyond it: the 99.9th percentile
    of 500 samples would be their maximum under another name.

    Parameters
    ----------
    latency_ns : sequence of int
        In any order; at least one.
    """
    import numpy as np

    seconds = np.asarray(latency_ns) / 1e9
    details = {"latency_mean_s": float(seconds.mean()), "latency_max_s": float(seconds.max())}
    for name, share in QUANTILES.items():
        # Rounded, because 1000 * (1 - 0.999) is a little less than 1.
        if round(len(seconds) * (1 - share), 9) >= 1:
            found = np.quantile(seconds, share, method="inverted_cdf")
            details[f"latency_{name}_s"] = float(found)
    return details
