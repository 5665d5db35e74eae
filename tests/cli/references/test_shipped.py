"""The references that come with pyscale hold what was published, to the last digit."""

from pathlib import Path

import polars as pl
import pytest

from pyscale.references.files import all_references, read_reference, shipped_folder

NOWHERE = Path("/nowhere/at/all")


def shipped(name):
    return read_reference(shipped_folder() / f"{name}.toml")


def test_each_has_its_files_and_says_what_it_is_and_what_is_wrong_with_it():
    every = all_references(NOWHERE)
    for loaded in every.values():
        reference = loaded.reference
        assert all(sentence.endswith(".") for sentence in reference.caveats)
        assert len(reference.caveats) >= 3
        assert not reference.figures.endswith(".")
        # A table of wall times has no speedups of its own.
        if reference.has_wall_times:
            assert not {"speedup", "efficiency_pct"} & set(loaded.table.columns)
    files = list(shipped_folder().iterdir())
    assert {path.suffix for path in files} == {".toml", ".csv"}
    assert {path.stem for path in files} == set(every)


def test_pycytos_wall_times_and_means_of_jobs(references):
    table = shipped("pycyto").table
    published = pl.read_csv(references / "pycyto_horizontal_scaling.csv")
    one = ["stage", "workers", "wall_s"]
    assert table.select(one).rows() == published.rows()
    jobs = pl.read_csv(references / "pycyto_trackmate_tasks.csv")
    assert table.drop_nulls("tasks").select(jobs.columns).rows() == jobs.rows()


def test_cellposes_sweep_over_sizes(references):
    loaded = shipped("cellpose-devices")
    published = pl.read_csv(references / "cellpose_device_sweep.csv")
    assert loaded.table.select("device", "length_px", "wall_s").rows() == published.rows()
    assert set(loaded.table["device"]) < set(loaded.reference.hardware)


def test_the_times_of_deepinverse_and_the_speedups_that_follow_from_them(references):
    published = pl.read_csv(references / "deepinverse_scaling_v100.csv")
    table = shipped("deepinverse-v100").table
    one = ["image_size", "gpus"]
    for part, column in (
        ("total", "total_s"),
        ("denoiser", "denoise_s"),
        ("gradient", "physics_s"),
        ("overhead", "overhead_s"),
    ):
        own = table.filter(component=part).select(*one, "wall_s")
        assert own.rows() == published.select(*one, column).rows()
    total = table.filter(component="total")
    assert total["baseline_gpus"].to_list() == published["baseline_gpus"].to_list()
    for column in ("speedup", "efficiency_pct", "work_normalised_efficiency_pct"):
        assert total[column].to_list() == pytest.approx(published[column].to_list(), rel=5e-4)


def test_speedups_without_times_stay_what_they_are(references):
    loaded = shipped("deepinverse-speedups")
    published = pl.read_csv(references / "deepinverse_seed_speedups.csv")
    assert loaded.table.rows() == published.rows()
    assert loaded.configurations() is None
