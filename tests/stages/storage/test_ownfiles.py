"""Movies and stacks of the user's own, read where they are, and what may be left out."""

import mrcfile
import numpy as np
import polars as pl
import pytest
import tifffile

from pyscale_stages.errors import BadInput
from pyscale_stages.storage import reads, run
from pyscale_stages.storage.testfiles import own_files
from refusals import refused
from smallstages import SMALL
from stagetasks import Bench


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
