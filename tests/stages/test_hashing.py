import subprocess

import pytest

from pyscale_stages.hashing import CHUNK_BYTES, SAMPLE_BYTES, fingerprint_of, sha256_of


@pytest.mark.parametrize("size_bytes", [0, 1, CHUNK_BYTES, 3 * CHUNK_BYTES + 7])
def test_a_checksum_is_that_of_sha256sum(tmp_path, size_bytes):
    file = tmp_path / "data"
    file.write_bytes(bytes(range(251)) * (size_bytes // 251) + b"x" * (size_bytes % 251))
    said = subprocess.run(["sha256sum", str(file)], capture_output=True, text=True, check=True)
    assert sha256_of(file) == said.stdout.split()[0]


@pytest.mark.parametrize("offset", [0, 10 * SAMPLE_BYTES // 2 + 5, 10 * SAMPLE_BYTES - 1])
def test_files_of_one_size_differ_by_what_lies_at_their_ends_and_in_the_middle(tmp_path, offset):
    data = bytearray(10 * SAMPLE_BYTES)
    (tmp_path / "a").write_bytes(data)
    data[offset] = 1
    (tmp_path / "b").write_bytes(data)
    assert fingerprint_of([tmp_path / "a"]) != fingerprint_of([tmp_path / "b"])


def test_a_folder_differs_by_the_size_of_any_file(tmp_path):
    files = [tmp_path / str(place) for place in range(9)]
    for file in files:
        file.write_bytes(b"frame")
    (tmp_path / "empty").touch()
    before = fingerprint_of(files)
    files[3].write_bytes(b"frame!")
    told = {before, fingerprint_of(files), fingerprint_of(files[:8])}
    told.add(fingerprint_of([tmp_path / "empty"]))
    assert {len(each) for each in told} == {64}
    assert len(told) == 4
