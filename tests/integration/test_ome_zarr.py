"""The whole pipeline from an OME-Zarr and through OME-Zarr, with one and with two workers."""

import csv

import pytest
import tifffile

from commandline import answer_in
from omezarr import write_zarr
from pyscale.store.folder import RunFolder
from pyscale_stages.movie import Movie
from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie

pytestmark = pytest.mark.smoke

FORMATS = [
    word
    for stage in ("register_denoise", "segment")
    for word in ("--set", f"{stage}.output_format=ome-zarr")
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of the finer of two levels, cold."""
    folder = tmp_path_factory.mktemp("zarr")
    own = {"PYSCALE_MIRROR": folder / "none", "PYSCALE_DATA_FOLDER": folder / "data"}
    made = SynthParams(frames=4, height_px=96, width_px=96, cells=8, cell_types=1, seed=5)
    frames = tifffile.imread(write_synthetic_movie(folder / "made", made) / "movie.ome.tif")
    write_zarr(folder / "movie.ome.zarr", frames, "tyx")
    few = ("--workers", "1,2", "--repeats", "1", "--cache", "cold", "--set", "keep_outputs=all")
    words = ("run", "pipeline", "--data", folder / "movie.ome.zarr", "--level", "0", *few, *FORMATS)
    ended = answer_in(folder, *words, COLUMNS=300, PYTHONPATH="", **own)
    assert ended.code == 0, ended
    assert "movie.ome.zarr/: OME-Zarr 0.5, level 0 of 2; 4 of 4 frames" in ended.err
    (path,) = (folder / "runs").iterdir()
    return RunFolder(path)


def test_two_workers_compute_what_one_does_and_read_cold(run):
    with (run.report / "benchmark_results_aggregated.csv").open() as file:
        rows = {(row["stage"], int(row["workers"])): row for row in csv.DictReader(file)}
    stages = ["register_denoise", "segment", "contact", "track"]
    assert list(rows) == [(stage, n) for stage in stages for n in (1, 2)]
    assert {float(rows[stage, 2]["agreement"]) for stage in stages} == {1.0}
    assert {row["cache_state"] for row in rows.values()} == {"verified-cold"}


def test_the_chunks_of_the_level_are_evicted_each_with_its_proof(run):
    trial = run.plan.trial("register_denoise-n2-b1")
    movie = Movie.open(run.plan.movie, reading=run.plan.reading)
    told = (run.trial(trial) / "cache.json").read_text()
    assert all(str(file) in told for file in movie.files)
    assert str(run.plan.movie / "1") not in told


@pytest.mark.parametrize(("entry", "name"), [("register_denoise", "frames"), ("segment", "labels")])
def test_merging_gave_chunks_of_windows_a_second_name(run, entry, name):
    trial = run.plan.trial(f"{entry}-n2-b1")
    whole = run.output(trial) / f"{name}.ome.zarr"
    assert Movie.open(whole).n_frames == 4
    chunk = f"{name}.ome.zarr/0/c/3/0/0"
    assert (whole.parent / chunk).samefile(run.task(trial, "w1") / "out" / chunk)
