"""The whole pipeline on a real movie, in one job of a real cluster, from the images."""

import polars as pl
import pytest
import tifffile

from pyscale.store.tables import SPANS_FILE, TASKS_FILE
from pyscale_stages.moviewriter import write_movie

STAGES = ["register_denoise", "segment", "contact", "track"]
MEMORY_GIB = 3.5
FRAMES = 4


@pytest.mark.slow
def test_the_pipeline_runs_from_images_in_one_job_and_is_reported(
    runs, built_images, shared_data, monkeypatch
):
    monkeypatch.setenv("PYSCALE_IMAGES_FOLDER", str(built_images.path))
    movie = runs.home / "cells.ome.tif"
    whole = shared_data / "cancer-migration" / "cancer_cell_migration_crop.tif"
    write_movie(movie, tifffile.imread(whole, key=range(FRAMES)), "TYX")
    process = runs.command(
        *runs.on_cluster("pipeline", "--data", movie, site=runs.site(memory_gib=MEMORY_GIB)),
        *("--runtime", "apptainer"),
    )
    runs.completed(process)
    assert len(runs.jobs) == 1
    status = runs.status()
    assert status["state"] == "complete"
    assert [row["done"] for row in status["configurations"]] == [1] * 4
    table = pl.read_csv(runs.run.report / "benchmark_results_aggregated.csv")
    assert table["stage"].unique(maintain_order=True).to_list() == STAGES
    tasks = pl.read_parquet(runs.run.path / TASKS_FILE)
    windows = tasks.filter(pl.col("verb") == "run")
    assert set(windows["node"]) <= set(runs.slurm.nodes)
    assert windows["image_sha256"].null_count() == 0
    assert windows["memory_used_share"].is_between(0.001, 1).all()
    spans = pl.read_parquet(runs.run.path / SPANS_FILE)
    assert (spans.filter(pl.col("phase") == "container_start")["wall_s"] > 0).all()
