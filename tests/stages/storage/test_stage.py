import json
import zlib
from pathlib import Path

import mrcfile
import numpy as np
import polars as pl
import pytest
import tifffile
from pydantic import ValidationError

from pyscale_stages.contract import Surroundings
from pyscale_stages.errors import BadInput
from pyscale_stages.registry import load_stage
from pyscale_stages.storage import reads, run, testfiles
from pyscale_stages.storage.stage import StorageParams, room_bytes
from pyscale_stages.storage.testfiles import own_files, particles_of
from pyscale_stages.timing import Timing
from refusals import refused
from smallstages import SMALL
from stagetasks import Bench

READS = (
    "movie_read_tiff",
    "movie_read_mrc",
    "movie_read_eer",
    "particle_sequential_read",
    "particle_random_read",
    "parallel_read",
)
METADATA = ("create", "stat", "list", "read", "delete")


def test_each_test_is_timed_in_each_repeat_and_state_and_nothing_stays(measured, timings):
    result, out, place = measured
    assert [path.name for path in place.iterdir()] == ["mine.txt"]
    whole = timings(out).filter(pl.col("step").is_null())
    expected = {f"{read}_{mode}" for read in READS for mode in ("cold", "warm", "direct")}
    expected |= {f"metadata_{what}" for what in METADATA}
    assert set(whole["test"]) == expected | {"particle_write", "particle_cache_copy"}
    assert whole.select("test", "workers", "repeat").is_unique().all()
    assert set(whole.filter(pl.col("test") == "parallel_read_cold")["workers"]) == {1, 2}
    assert len(whole) == 2 * (len(expected) + 2 + 3)  # the second number of readers, by mode
    for timing in result.of(Timing):
        assert (timing.wall_s is None) == bool(timing.why_not)
    assert len(result.of(Timing)) == len(timings(out))


def test_all_bytes_that_were_written_are_read(measured, timings):
    table = timings(measured[1]).filter(pl.col("step").is_null())
    amount = dict(table.select("test", "amount").iter_rows())
    particles = 23 * 18 * 18 * 4
    for mode in ("cold", "warm"):
        assert amount[f"particle_random_read_{mode}"] == particles
        for read in ("particle_sequential", "parallel"):
            assert amount[f"{read}_read_{mode}"] == particles + 3 * 1024
        assert amount[f"movie_read_mrc_{mode}"] == 2 * (1024 + 2 * 64 * 64 * 2)
    assert amount["particle_write"] == particles + 3 * 1024


def test_checksums_are_those_of_the_drawn_particles_however_they_are_read(measured, timings):
    table = timings(measured[1])
    drawn = np.concatenate([particles_of(7, n, count, 18) for n, count in enumerate((8, 8, 7))])
    each = np.array([zlib.crc32(particle.tobytes()) for particle in drawn], "<u4")
    random = table.filter(pl.col("test").str.starts_with("particle_random_read"))
    found = set(random["checksum"].drop_nulls())
    assert found == {float(zlib.crc32(each.tobytes()))}
    whole = table.filter(
        pl.col("step").is_null()
        & pl.col("test").str.contains("particle_write|particle_sequential|parallel")
    )
    assert len(set(whole["checksum"].drop_nulls())) == 1


def test_the_state_of_every_file_counts(measured, timings):
    table = timings(measured[1])
    for mode in ("cold", "warm"):
        (found,) = table.filter(test=f"particle_sequential_read_{mode}", repeat=0).rows(named=True)
        details = json.loads(found["details"])
        assert details["files"] == 3
        assert (found["cache"] == "verified-cold") == (details["files_verified_cold"] == 3)


def test_a_stack_that_is_damaged_after_writing_is_told(bench, place, monkeypatch):
    def damage(*args):
        written = testfiles.write_stack(*args)
        with written.files[1].open("r+b") as file:
            file.seek(-1, 2)
            last = file.read(1)[0]
            file.seek(-1, 2)
            file.write(bytes([last ^ 1]))
        return written

    monkeypatch.setattr("pyscale_stages.storage.run.write_stack", damage)
    error = bench.run("run", place, movie_formats=["mrc"], modes=["warm"]).error
    assert error.kind == "DamagedRead"
    assert "differ from what was written" in error.message
    assert not list(place.iterdir())


def test_movies_need_no_more_room_than_was_asked_for(bench, place, monkeypatch):
    sizes = {}

    def write(task, folder, kind):
        files = testfiles.write_movies(task, folder, kind)
        sizes[kind] = files.total_bytes
        asked, none = (
            room_bytes(task.params.model_copy(update={"movie_formats": kinds}))
            for kinds in ((kind,), ())
        )
        assert files.total_bytes < (asked - none) * 1.05
        return files

    monkeypatch.setattr("pyscale_stages.storage.run.write_movies", write)
    assert bench.run("run", place, modes=["warm"], movie_side_px=512).error is None
    assert len(sizes) == 3


def test_with_a_cache_folder_the_copy_is_read_too(bench, timings, place, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    result = bench.run("run", place, cache_folder=str(cache), modes=["warm"])
    assert result.error is None
    assert not list(cache.iterdir())
    table = timings(tmp_path / "out")
    checksum = {
        test: value
        for test, value in table.select("test", "checksum").iter_rows()
        if value is not None
    }
    assert checksum["particle_cache_copy"] == checksum["particle_sequential_read_warm"]
    assert checksum["cache_sequential_read_warm"] == checksum["particle_write"]
    assert checksum["cache_random_read_warm"] == checksum["particle_random_read_warm"]
    assert any("cache_folder lies on the filesystem" in warning for warning in result.warnings)


def test_a_direct_read_that_fills_the_page_cache_is_not_called_direct(
    bench, timings, place, tmp_path, monkeypatch
):
    monkeypatch.setattr(reads, "why_not_direct", lambda _path: "")
    monkeypatch.setattr(reads, "resident_bytes", lambda _files: 4096)
    monkeypatch.setattr("pyscale_stages.storage.reads.Proof.all_cold", True)
    out = bench.done("run", place, movie_formats=["mrc"], modes=["direct"], readers=[1])
    direct = timings(out).filter(pl.col("test").str.ends_with("_direct"))
    assert len(direct) == 4
    assert direct["why_not"].str.contains("still reads through the page cache").all()


def test_more_readers_than_files_cannot_be(bench, place):
    timings = bench.run("run", place, modes=["warm"], readers=[3, 4]).of(Timing)
    why_not = {t.workers: t.why_not for t in timings if t.test == "parallel_read_warm"}
    assert why_not == {3: "", 4: "4 readers cannot share 3 files: raise particle_files"}


def test_the_scale_against_the_ancestor_is_told_and_steps_of_writing_add_up(measured):
    result = measured[0]
    assert any(
        "times the 13.1 GB of CryoSPARC's benchmark" in warning for warning in result.warnings
    )
    for repeat in range(2):
        writes = {
            t.step: t for t in result.of(Timing) if (t.test, t.repeat) == ("particle_write", repeat)
        }
        scale = 23 * 18**2 / (50_000 * 256**2)
        assert writes[None].details["scale_to_published"] == pytest.approx(scale)
        steps_s = writes["write"].wall_s + writes["flush"].wall_s
        assert writes[None].wall_s == pytest.approx(steps_s)


def test_sizes_that_cannot_be_are_refused():
    with pytest.raises(ValidationError, match="9 particles cannot lie in 10 files"):
        StorageParams(particles=9)
    with pytest.raises(ValidationError, match="multiple of 4096"):
        StorageParams(block_bytes=5000)


@pytest.mark.parametrize("name", ["storage", "kernels"])
def test_an_image_is_given_the_cache_folder_to_write_into(name):
    stage = load_stage(name)
    assert stage.surroundings(stage.params()) == Surroundings()
    params = stage.params(cache_folder=Path("scratch"))
    assert stage.surroundings(params) == Surroundings(written=(Path("scratch"),))


@pytest.fixture
def own(tmp_path):
    """A folder with two movies, two stacks of particles, and what is neither."""
    folder = tmp_path / "own"
    (folder / "deeper").mkdir(parents=True)
    rng = np.random.default_rng(1)
    tifffile.imwrite(folder / "a.tif", rng.integers(0, 9, (3, 16, 16), np.uint8))
    mrcfile.write(folder / "b.mrc", rng.random((3, 16, 16), np.float32))
    for name, count in (("p.mrcs", 4), ("deeper/q.mrcs", 3)):
        mrcfile.write(folder / name, rng.random((count, 8, 8), np.float32))
    (folder / "notes.txt").write_text("mine")
    return folder


def test_they_are_read_in_every_mode_and_nothing_is_written(own, tmp_path, timings):
    before = {path: path.stat().st_mtime_ns for path in own.rglob("*")}
    (tmp_path / "place").mkdir()
    bench = Bench("storage", tmp_path, **SMALL["storage"])
    modes = {"modes": ["cold", "warm"], "orders": ["random"]}
    result = bench.run("run", tmp_path / "place", own_data=str(own), repeats=1, **modes)
    assert result.error is None
    table = timings(tmp_path / "out").filter(pl.col("step").is_null())
    amount = dict(table.select("test", "amount").iter_rows())
    for mode in ("cold", "warm"):
        assert amount[f"own_movie_read_mrc_{mode}"] == (own / "b.mrc").stat().st_size
        assert amount[f"own_movie_read_tiff_{mode}"] == (own / "a.tif").stat().st_size
        assert amount[f"own_particle_random_read_{mode}"] == 7 * 8 * 8 * 4
    # The order that was not asked for is left out.
    assert not any("sequential" in test for test in amount)
    assert {path: path.stat().st_mtime_ns for path in own.rglob("*")} == before


def test_a_folder_without_any_and_a_damaged_stack_are_refused(own):
    with refused(BadInput):
        own_files(own / "deeper" / "none")
    (own / "p.mrcs").write_bytes(b"no header")
    with refused(BadInput):
        own_files(own)


def test_the_whole_page_cache_is_dropped_before_what_is_cold_alone_where_the_user_may(
    tmp_path, monkeypatch
):
    switch = tmp_path / "drop_caches"
    monkeypatch.setattr(reads, "DROP_CACHES", switch)
    monkeypatch.setattr(run, "DROP_CACHES", switch)
    (tmp_path / "file").write_bytes(b"1")
    reads.prepare([tmp_path / "file"], "warm", drop_caches=True)
    assert not switch.exists()
    reads.prepare([tmp_path / "file"], "cold", drop_caches=True)
    assert switch.read_text() == "1"
    switch.unlink()
    (tmp_path / "place").mkdir()
    bench = Bench("storage", tmp_path, **SMALL["storage"])
    assert "drop_caches" in bench.refused("run", tmp_path / "place", drop_caches=True)
