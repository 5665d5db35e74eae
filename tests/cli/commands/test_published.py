"""`pyscale report --table` finds in published wall times what their authors published of them."""

import polars as pl
import pytest

from commandline import run_line
from pyscale.app import app

pytestmark = pytest.mark.usefixtures("without_figures")


@pytest.fixture
def reported(tmp_path):
    """Report a table on the command line; return the aggregated table."""

    def report(table):
        path = tmp_path / "published.csv"
        table.write_csv(path)
        run_line(app, "report", "--table", str(path), "--out", str(tmp_path))
        return pl.read_csv(tmp_path / "benchmark_results_aggregated.csv")

    return report


@pytest.mark.slow
def test_an_efficiency_over_a_baseline_of_two(reported, references):
    """DeepInverse: 7.44 times as fast on 16 GPUs as on 2, of which the authors say 93 %."""
    published = pl.read_csv(references / "deepinverse_seed_speedups.csv").row(
        by_predicate=pl.col("baseline_gpus") == 2, named=True
    )
    # Times are not published: any two with this ratio.
    times = [published["speedup"], 1.0]
    rows = reported(pl.DataFrame({"stage": "total", "workers": [2, 16], "wall_s": times}))
    assert rows["baseline_workers"].to_list() == [2, 2]
    assert [f"{100 * value:.0f} %" for value in rows["efficiency"]] == ["100 %", "93 %"]


@pytest.mark.slow
def test_with_the_work_of_halos_the_efficiency_is_the_work_normalised_one(reported, references):
    """Tiles overlap: more than one GPU did 1.5625 times the work, of which the table tells."""
    published = pl.read_csv(references / "deepinverse_scaling_v100.csv")
    rows = reported(
        published.select(
            pl.format("image of {} px", "image_size").alias("stage"),
            workers="gpus",
            wall_s="total_s",
            work="work_multiplier",
        )
    )
    # Of the largest image the baseline was tiled too, so that its work is the same at every N.
    kinds = dict(zip(rows["stage"], rows["scaling"], strict=True))
    assert kinds == {
        "image of 2048 px": "mixed",
        "image of 4096 px": "mixed",
        "image of 8192 px": "strong",
    }
    percent = published["work_normalised_efficiency_pct"].to_list()
    assert (100 * rows["efficiency"]).to_list() == pytest.approx(percent, rel=1e-5)
