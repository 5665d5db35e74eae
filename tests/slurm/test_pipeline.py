"""The whole pipeline on a real movie, in one job of a real cluster."""

import polars as pl
import pytest
import tifffile

from pyscale.store.tables import FILES
from pyscale_stages.moviewriter import write_movie

STAGES = ["register_denoise", "segment", "contact", "track"]
MEMORY_GIB = 3.5
FRAMES = 4


@pytest.fixture
def of_images(request, monkeypatch):
    """Say that stages run from their images, where they do."""
    if request.param == "apptainer":
        folder = request.getfixturevalue("built_images").path
        monkeypatch.setenv("PYSCALE_IMAGES_FOLDER", str(folder))
    monkeypatch.setenv("PYSCALE_RUNTIME", request.param)
    return request.param == "apptainer"


@pytest.mark.slow
@pytest.mark.parametrize(
    "of_images", ["native", pytest.param("apptainer", marks=pytest.mark.images)], indirect=True
)
def test_the_pipeline_runs_in_one_job_and_is_reported(runs, of_images, shared_data):
    movie = runs.home / "cells.ome.tif"
    whole = shared_data / "cancer-migration" / "cancer_cell_migration_crop.tif"
    write_movie(movie, tifffile.imread(whole, key=range(FRAMES)), "TYX")
    site = runs.site(memory_gib=MEMORY_GIB)
    runs.completed(runs.command(*runs.on_cluster("pipeline", "--data", movie, site=site)))
    assert len(runs.jobs) == 1
    status = runs.status()
    assert status["state"] == "complete"
    assert [row["done"] for row in status["configurations"]] == [1] * 4
    table = pl.read_csv(runs.run.report / "benchmark_results_aggregated.csv")
    assert table["stage"].unique(maintain_order=True).to_list() == STAGES
    tasks = pl.read_parquet(runs.run.path / FILES["tasks"])
    windows = tasks.filter(pl.col("verb") == "run")
    assert set(windows["node"]) <= set(runs.slurm.nodes)
    assert windows["image_sha256"].null_count() == (0 if of_images else windows.height)
    assert windows["memory_used_share"].is_between(0.001, 1).all()
    spans = pl.read_parquet(runs.run.path / FILES["spans"])
    started_s = spans.filter(pl.col("phase") == "container_start")["wall_s"]
    assert (started_s.is_empty(), (started_s > 0).all()) == (not of_images, True)
