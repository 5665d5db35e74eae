from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pyscale_stages.hashing import CHUNK_BYTES, sha256_of


@pytest.mark.parametrize("size_bytes", [0, 1, CHUNK_BYTES, 3 * CHUNK_BYTES + 7])
def test_a_checksum_is_that_of_sha256sum(tmp_path: Path, size_bytes: int) -> None:
    file = tmp_path / "data"
    file.write_bytes(bytes(range(251)) * (size_bytes // 251) + b"x" * (size_bytes % 251))
    said = subprocess.run(["sha256sum", str(file)], capture_output=True, text=True, check=True)
    assert sha256_of(file) == said.stdout.split()[0]


def test_progress_adds_up_to_the_size(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"a" * (2 * CHUNK_BYTES + 5))
    read: list[int] = []
    assert sha256_of(file, read.append) == sha256_of(file)
    assert sum(read) == file.stat().st_size
    assert len(read) >= 3


def test_a_file_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sha256_of(tmp_path / "absent")
