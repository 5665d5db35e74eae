"""`pyscale report --table` finds in published wall times what their authors published of them."""

import polars as pl
import pytest

from commandline import run_line
from pyscale.app import app

pytestmark = pytest.mark.usefixtures("without_figures")


PYCYTO_SPEEDUPS = {
    ("register_denoise", 8): "6.44",
    ("cellpose_ch0", 4): "2.36",
    ("cellpose_ch0", 8): "3.10",
    ("cellpose_ch1", 8): "2.81",
    ("contact", 4): "1.95",
    ("contact", 8): "2.02",
    ("trackmate_ch0", 2): "1.67",
    ("trackmate_ch0", 8): "1.77",
}
"""As printed in pyCyto's documentation, in its table and its text."""
OFF_BY_ROUNDING = {("register_denoise", 8), ("cellpose_ch0", 4)}
"""Printed from times that were not yet rounded to whole seconds, as those of the table are."""
PYCYTO_EFFICIENCY_PERCENT = {
    "register_denoise": 80,
    "cellpose_ch0": 39,
    "cellpose_ch1": 35,
    "contact": 25,
    "trackmate_ch0": 22,
}


@pytest.fixture
def reported(tmp_path):
    """Report a table on the command line; return the aggregated table and the text."""

    def report(table):
        run_line(app, "report", "--table", str(table), "--out", str(tmp_path))
        text = (tmp_path / "scaling_analysis.md").read_text(encoding="utf-8")
        return pl.read_csv(tmp_path / "benchmark_results_aggregated.csv"), text

    return report


@pytest.fixture
def pycyto(references):
    return references / "pycyto_horizontal_scaling.csv"


@pytest.mark.slow
def test_pycytos_speedups_and_efficiencies(reported, pycyto):
    rows, _ = reported(pycyto)
    found = {(row["stage"], row["workers"]): row for row in rows.iter_rows(named=True)}
    for key, printed in PYCYTO_SPEEDUPS.items():
        row, base = found[key], found[key[0], 1]
        if key not in OFF_BY_ROUNDING:
            assert f"{row['speedup']:.2f}" == printed
        lowest = (base["wall_s"] - 0.5) / (row["wall_s"] + 0.5)
        highest = (base["wall_s"] + 0.5) / (row["wall_s"] - 0.5)
        assert round(lowest, 2) <= float(printed) <= round(highest, 2)
    assert {
        stage: round(100 * found[stage, 8]["efficiency"]) for stage in PYCYTO_EFFICIENCY_PERCENT
    } == PYCYTO_EFFICIENCY_PERCENT


@pytest.mark.slow
def test_one_trial_has_no_interval_and_the_text_says_so(reported, pycyto):
    rows, text = reported(pycyto)
    intervals = rows.select(pl.col("^(wall_s|speedup)_(low|high)$"))
    assert intervals.width == 4
    assert all(column.null_count() == rows.height for column in intervals)
    # The baseline of each stage.
    assert text.count("(one trial; no 95 % interval, 6 trials needed)") == 5


@pytest.mark.slow
def test_the_decomposition_of_pycytos_tracking(reported, references, pycyto, tmp_path):
    """The table of mean times of jobs begins at N = 2; one job alone is the other table's."""
    tracked = pl.col("stage") == "trackmate_ch0"
    one = pl.read_csv(pycyto).filter(tracked, pl.col("workers") == 1)
    tasks = pl.read_csv(references / "pycyto_trackmate_tasks.csv")
    pl.concat([one, tasks], how="diagonal_relaxed").write_csv(tmp_path / "tasks.csv")
    rows, _ = reported(tmp_path / "tasks.csv")
    assert rows["load_balance"].round(3).to_list() == [1, 1, 0.858, 0.786]
    assert rows["computation_scaling"].round(3).to_list() == [1, 0.836, 0.467, 0.282]
    assert rows["efficiency"].round(3).to_list() == [1, 0.836, 0.401, 0.222]


@pytest.mark.slow
def test_an_efficiency_over_a_baseline_of_two(reported, references, tmp_path):
    """DeepInverse: 7.44 times as fast on 16 GPUs as on 2, of which the authors say 93 %."""
    published = pl.read_csv(references / "deepinverse_seed_speedups.csv").row(
        by_predicate=pl.col("baseline_gpus") == 2, named=True
    )
    table = tmp_path / "tomography.csv"
    # Times are not published: any two with this ratio.
    times = [published["speedup"], 1.0]
    pl.DataFrame({"stage": "total", "workers": [2, 16], "wall_s": times}).write_csv(table)
    rows, _ = reported(table)
    assert rows["baseline_workers"].to_list() == [2, 2]
    assert [f"{100 * value:.0f} %" for value in rows["efficiency"]] == ["100 %", "93 %"]


@pytest.fixture
def deepinverse(references):
    """What is published of tiled reconstructions, under the names of a user's table."""
    names = {"gpus": "workers", "total_s": "wall_s", "work_multiplier": "work"}
    published = pl.read_csv(references / "deepinverse_scaling_v100.csv").rename(names)
    return published.with_columns(stage=pl.format("image of {} px", "image_size"))


@pytest.mark.slow
def test_speedups_and_efficiencies_of_tiled_reconstructions(reported, deepinverse, tmp_path):
    """DeepInverse on up to 64 GPUs, and of the largest image from two on."""
    table = tmp_path / "deepinverse.csv"
    deepinverse.select("stage", "workers", "wall_s").write_csv(table)
    rows, _ = reported(table)
    assert rows["workers"].to_list() == deepinverse["workers"].to_list()
    assert rows["speedup"].to_list() == pytest.approx(deepinverse["speedup"].to_list(), rel=1e-5)
    percent = deepinverse["efficiency_pct"].to_list()
    assert (100 * rows["efficiency"]).to_list() == pytest.approx(percent, rel=1e-5)


@pytest.mark.slow
def test_with_the_work_of_halos_the_efficiency_is_the_work_normalised_one(
    reported, deepinverse, tmp_path
):
    """Tiles overlap: more than one GPU did 1.5625 times the work, of which the table tells."""
    table = tmp_path / "deepinverse.csv"
    deepinverse.select("stage", "workers", "wall_s", "work").write_csv(table)
    rows, _ = reported(table)
    # Of the largest image the baseline was tiled too, so that its work is the same at every N.
    kinds = dict(zip(rows["stage"], rows["scaling"], strict=True))
    assert kinds == {
        "image of 2048 px": "mixed",
        "image of 4096 px": "mixed",
        "image of 8192 px": "strong",
    }
    percent = deepinverse["work_normalised_efficiency_pct"].to_list()
    assert (100 * rows["efficiency"]).to_list() == pytest.approx(percent, rel=1e-5)
