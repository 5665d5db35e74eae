"""Two ranks on two nodes of a real cluster meet, by a job of pyscale's and by emitted scripts."""

import polars as pl
import pytest

from pyscale.store.taskfiles import read_task
from pyscale_stages.contract import TaskResult
from pyscale_stages.loading import Loading
from pyscale_stages.slides.synthetic import SlidesParams, write_slides
from slurm.runs import complete_scripts

pytestmark = pytest.mark.slow

BATCHES = 4
SUITE = f"""
name = "tiny"
summary = "Some patches, in a moment"
data = "slides"

[stages.loader]
inputs = {{ slides = "slides" }}
threads = "all"

[stages.loader.params]
num_workers = 1
batch_size = 4
batches = {BATCHES}
warmup_batches = 1
patch_px = 64
start_method = "fork"
"""


@pytest.fixture
def suite(runs):
    path = runs.home / "tiny.toml"
    path.write_text(SUITE)
    return path


@pytest.fixture
def options(runs):
    """Which slides two ranks are to load, and how large their job is."""
    slides = runs.home / "my slides, [new]"
    write_slides(slides, SlidesParams(slides=3, height_px=512, width_px=512))
    site = runs.site()
    # One rank on each: together they have more cores than a node.
    site.write_text(site.read_text().replace("cpus = 1", "cpus = 3"))
    return ("--data", slides, "--site", site)


def require_met(ranks):
    """See that both ranks were timed in step, on slides of their own."""
    found = [result.of(Loading)[0] for result in ranks]
    loading = [each for each in found if each is not None]
    in_step = [each.together for each in loading if each.together]
    assert [len(window.steps_s) for window in in_step] == [BATCHES, BATCHES]
    assert [each.slides for each in loading] == [2, 1]
    assert len({each.checksum for each in loading}) == 2


def test_ranks_on_two_nodes_meet_by_one_job(runs, suite, options):
    process = runs.command(
        *("run", suite, *options, "--executor", "slurm", "--workers", "2", "--repeats", "1")
    )
    with runs.in_its_middle(process, "w0", "w1") as launches:
        assert {launch.node for launch in launches} == set(runs.slurm.nodes)
        assert runs.job_of("w0") == runs.job_of("w1")
    runs.completed(process)
    (trial,) = runs.run.plan.trials
    results = [read_task(runs.run.task(trial, name)).result for name in trial.window_tasks]
    require_met([result for result in results if result])
    table = pl.read_parquet(runs.run.path / "loading.parquet").sort("rank")
    assert table["node"].to_list() == [launch.node for launch in launches]
    assert set(table["cache_state"]) == {"verified-cold"}
    points = pl.read_csv(runs.run.report / "benchmark_loader.csv")
    assert points.select("workers", "failed", "oversubscribed").rows() == [(2, 0, False)]


def test_emitted_scripts_let_ranks_on_two_nodes_meet(runs, suite, options):
    runs.say("run", suite, *options, "--workers", "1,2", "--emit-sbatch", "scripts")
    scripts = runs.home / "scripts"
    assert complete_scripts(runs.slurm, scripts) == [
        *("loader-n1/windows.sbatch", "loader-n2/windows.sbatch", "loader-n2/merge.sbatch")
    ]
    records = [scripts / "loader-n2" / task / "result.json" for task in ("w0", "w1")]
    ranks = [TaskResult.model_validate_json(record.read_bytes()) for record in records]
    require_met(ranks)
    assert [rank.stamp["slurm"]["SLURMD_NODENAME"] for rank in ranks] == list(runs.slurm.nodes)
    (merged,) = (scripts / "loader-n2").glob("merge/**/loading.parquet")
    assert pl.read_parquet(merged)["rank"].unique().sort().to_list() == [0, 1]
    assert list((scripts / "loader-n2" / "meeting").iterdir()) == []
