import multiprocessing

import pytest

from pyscale_stages.storage.reading import shares_of, together


@pytest.fixture
def files(place):
    """Seven files of unequal size."""
    paths = [place / f"file{n}" for n in range(7)]
    for number, path in enumerate(paths):
        path.write_bytes(bytes(1000 * (number + 1)))
    return paths


@pytest.mark.parametrize("readers", [1, 2, 3, 7])
def test_every_file_is_the_share_of_one_reader(files, readers):
    shares = shares_of(files, readers)
    assert [path for share in shares for path in share] == files
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == readers


def test_readers_read_all_their_files_in_the_time_of_all_and_are_gone(files):
    before = set(multiprocessing.active_children())
    read = together(shares_of(files, 3), 4096, direct=False)
    assert read.amount == 28_000
    assert set(multiprocessing.active_children()) <= before
    read = together(shares_of(files, 2), 4096, direct=False)
    details = read.details
    assert read.wall_s >= details["slowest_reader_s"] >= details["fastest_reader_s"] > 0
    assert read.wall_s >= details["overlap_s"] >= 0
    assert read.wall_s <= details["start_spread_s"] + details["slowest_reader_s"]


def test_what_one_reader_meets_ends_all(files):
    before = set(multiprocessing.active_children())
    files[5].unlink()
    with pytest.raises(FileNotFoundError):
        together(shares_of(files, 2), 4096, direct=False)
    assert set(multiprocessing.active_children()) <= before
