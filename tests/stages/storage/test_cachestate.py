from __future__ import annotations

from pathlib import Path

import pytest

from pyscale_stages.measure.pagecache import Eviction
from pyscale_stages.residency import CacheState, Residency
from pyscale_stages.storage.book import Proof, prepare, resident_bytes
from pyscale_stages.storage.params import Mode


def proof(mode: Mode, *states: CacheState) -> Proof:
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


def test_a_test_is_warm_where_all_files_are():
    assert proof("warm", "warm", "warm").state == "warm"
    assert proof("warm", "warm", "verified-cold").state == "unsupported"
    assert proof("warm", "warm", "unsupported").state == "unsupported"


def test_past_the_cache_is_direct_whatever_lay_in_it():
    assert proof("direct", "warm").state == "direct"
    assert not proof("direct", "verified-cold", "warm").all_cold


def test_what_is_not_known_of_one_file_is_no_number_for_all():
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
