import os
from pathlib import Path

import pytest

from moviefiles import noise, write_set
from pyscale.executors.surroundings import bring_inputs_to
from pyscale_stages.measure import pagecache
from pyscale_stages.movie import Movie


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pixels"
    path.write_bytes(os.urandom(1 << 20))
    return path


def test_a_warm_input_lies_in_memory_as_a_whole_and_asis_changes_nothing(file):
    pagecache.evict(file)
    cache = bring_inputs_to("asis", [file])
    assert cache.state == "asis"
    assert cache.files[0].resident_bytes == 0
    assert bring_inputs_to("warm", [file]).state == "warm"
    assert pagecache.probe(file).resident_bytes == 1 << 20


def test_one_file_without_proof_speaks_for_all(file):
    in_memory = Path("/dev/shm") / f"pyscale-test-{os.getpid()}"
    in_memory.write_bytes(b"x" * 5000)
    try:
        assert bring_inputs_to("cold", [file, in_memory]).state == "unsupported"
    finally:
        in_memory.unlink()


@pytest.mark.parametrize("asked", ["cold", "warm"])
def test_nothing_is_proved_of_an_input_that_is_not_there_or_of_an_empty_folder(tmp_path, asked):
    assert bring_inputs_to(asked, [tmp_path]).state == "unsupported"
    cache = bring_inputs_to(asked, [tmp_path / "gone"])
    assert cache.state == "unsupported"
    assert "No such file" in cache.model_dump_json()


def test_a_folder_that_cannot_be_listed_is_recorded(tmp_path, monkeypatch):
    def refuse(_folder):
        raise PermissionError

    monkeypatch.setattr(Path, "iterdir", refuse)
    cache = bring_inputs_to("cold", [tmp_path])
    assert cache.state == "unsupported"
    assert [eviction.path for eviction in cache.evictions] == [tmp_path]


def test_an_image_that_is_a_folder_is_evicted_with_all_its_chunks(tmp_path):
    chunks = tmp_path / "slides" / "a.zarr" / "0" / "c"
    chunks.mkdir(parents=True)
    (chunks / "0").write_bytes(os.urandom(5000))
    (tmp_path / "slides" / "a.zarr" / "zarr.json").write_text("{}")
    pagecache.warm(chunks / "0")
    cache = bring_inputs_to("cold", [tmp_path / "slides"])
    assert cache.state == "verified-cold"
    assert pagecache.probe(chunks / "0").resident_bytes == 0
    assert len(cache.evictions) == 2
    assert bring_inputs_to("cold", [tmp_path / "slides" / "a.zarr"]).evictions[0].path.is_file()


def test_of_a_movie_its_frames_alone_are_cold_each_with_its_proof(tmp_path):
    folder = write_set(tmp_path / "set", noise(3))
    (folder / "notes.txt").write_text("not read")
    for file in folder.iterdir():
        pagecache.warm(file)
    movie = Movie.open(folder)
    cache = bring_inputs_to("cold", [folder], movie.reading)
    assert cache.state == "verified-cold"
    assert tuple(eviction.path for eviction in cache.evictions) == movie.files
    assert all(eviction.after.resident_bytes == 0 for eviction in cache.evictions)
    assert pagecache.probe(folder / "notes.txt").resident_bytes
