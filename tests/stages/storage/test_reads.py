from pathlib import Path

import pytest

from pyscale_stages.measure.pagecache import Eviction
from pyscale_stages.residency import Residency
from pyscale_stages.storage.reads import Proof, latency_details, prepare, resident_bytes


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


def proof(mode, *states):
    nothing = Residency(path=Path("f"), size_bytes=9, resident_bytes=None, method="none")
    return Proof(
        mode,
        tuple(
            Eviction(path=Path("f"), node="n", before=nothing, after=nothing, state=state)
            for state in states
        ),
    )


@pytest.mark.parametrize(
    ("states", "worst"),
    [
        (("verified-cold", "verified-cold"), "verified-cold"),
        (("verified-cold", "evicted-unverified"), "evicted-unverified"),
        (("unsupported", "evicted-unverified"), "unsupported"),
        (("verified-cold", "warm", "evicted-unverified"), "warm"),
        (("verified-cold", "warm", "unsupported"), "unsupported"),
    ],
)
def test_a_cold_test_has_the_least_proved_state_of_its_files(states, worst):
    assert proof("cold", *states).state == worst
    assert proof("cold", *states[::-1]).state == worst


def test_a_test_is_warm_where_all_files_are_and_direct_whatever_lay_in_the_cache():
    assert proof("warm", "warm", "warm").state == "warm"
    assert proof("warm", "warm", "verified-cold").state == "unsupported"
    assert proof("warm", "warm", "unsupported").state == "unsupported"
    assert proof("direct", "warm").state == "direct"
    assert not proof("direct", "verified-cold", "warm").all_cold
    assert "resident_before_bytes" not in proof("cold", "evicted-unverified").details
    assert proof("cold", "verified-cold", "warm").details["files_verified_cold"] == 1


def test_files_are_driven_out_and_read_in(place, missing):
    files = [place / "one", place / "two"]
    for path in files:
        path.write_bytes(bytes(70_000))
    warm = prepare(files, "warm")
    cold = prepare(files, "cold")
    if cold.state != "verified-cold":
        missing("a filesystem whose cache can be looked at", cold.files[0].reason)
    assert warm.state == "warm"
    assert warm.details["resident_before_bytes"] == 140_000
    assert cold.details["resident_before_bytes"] == 0
    assert cold.details["files_verified_cold"] == 2
    assert resident_bytes(files) == 0
