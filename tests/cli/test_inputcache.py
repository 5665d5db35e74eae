"""Inputs are brought to the asked page-cache state, and nothing is claimed without proof."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyscale.inputcache import bring_inputs_to
from pyscale_stages.measure import pagecache


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pixels"
    path.write_bytes(os.urandom(1 << 20))
    return path


def test_a_cold_input_has_no_page_in_memory(file: Path) -> None:
    assert pagecache.warm(file).resident_bytes == 1 << 20
    cache = bring_inputs_to("cold", [file])
    assert cache.state == "verified-cold"
    assert pagecache.probe(file).resident_bytes == 0
    (eviction,) = cache.evictions
    assert eviction.before.resident_bytes == 1 << 20


def test_a_warm_input_lies_in_memory_as_a_whole(file: Path) -> None:
    pagecache.evict(file)
    assert bring_inputs_to("warm", [file]).state == "warm"
    assert pagecache.probe(file).resident_bytes == 1 << 20


def test_asis_changes_nothing(file: Path) -> None:
    pagecache.evict(file)
    cache = bring_inputs_to("asis", [file])
    assert cache.state == "asis"
    assert cache.files[0].resident_bytes == 0


def test_a_folder_stands_for_its_files(file: Path) -> None:
    (file.parent / "more").write_bytes(b"x" * 5000)
    found = [eviction.path.name for eviction in bring_inputs_to("cold", [file.parent]).evictions]
    assert found == ["more", "pixels"]


def test_one_file_without_proof_speaks_for_all(file: Path) -> None:
    in_memory = Path("/dev/shm") / f"pyscale-test-{os.getpid()}"
    in_memory.write_bytes(b"x" * 5000)
    try:
        assert bring_inputs_to("cold", [file, in_memory]).state == "unsupported"
    finally:
        in_memory.unlink()
