from __future__ import annotations

import pytest

from pyscale_stages.storage.book import latency_details


def test_percentiles_are_latencies_that_were_observed():
    details = latency_details([n * 1_000_000 for n in range(1000, 0, -1)])
    assert details == pytest.approx(
        {
            "latency_mean_s": 0.5005,
            "latency_max_s": 1.0,
            "latency_p50_s": 0.5,
            "latency_p95_s": 0.95,
            "latency_p99_s": 0.99,
            "latency_p999_s": 0.999,
        }
    )


@pytest.mark.parametrize(
    ("samples", "known"),
    [(1, set()), (2, {"p50"}), (19, {"p50"}), (20, {"p50", "p95"}), (999, {"p50", "p95", "p99"})],
)
def test_a_percentile_beyond_which_no_sample_lies_is_left_out(samples, known):
    details = latency_details(range(samples))
    always = {"latency_mean_s", "latency_max_s"}
    assert set(details) - always == {f"latency_{name}_s" for name in known}
