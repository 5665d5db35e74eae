"""Ranks on nodes of a real cluster reconstruct one image, by pyscale's jobs and emitted scripts."""

import re
from importlib.util import find_spec

import polars as pl
import psutil
import pytest

from pyscale.store.taskfiles import read_jobs, read_task
from pyscale_stages.contract import TaskResult
from pyscale_stages.libraries import how_to_install
from pyscale_stages.reconstruct.output import read_image
from pyscale_stages.reconstruction import (
    COMPONENTS,
    DENOISER_TOLERANCE,
    GRADIENT_TOLERANCE,
    Reconstruction,
)
from slurm.runs import complete_scripts
from trials import error_of

pytestmark = pytest.mark.slow

SIZE_PX = 128
ITERATIONS = 3
REST_SHARE = 0.01
SUITE = f"""
name = "tiny"
summary = "A small image, in a moment"
data = "phantom"

[stages.colour]
stage = "reconstruct"

[stages.colour.params]
problem = "colour_deblur"
size_px = {SIZE_PX}
operators = 4
channels = [8, 8, 8, 8]
blocks = 1
tile_px = 64
overlap_px = 56
warmup_iterations = 1
iterations = {ITERATIONS}
"""
# Python runs it before the program; the rank stands still when its first iteration is under way.
STOP_IN_AN_ITERATION = """
if "pyscale_stages" in sys.orig_argv and os.path.basename(os.getcwd()) == "w1":
    from torch.nn.modules.module import register_module_forward_pre_hook

    def stop(module, given):
        if type(module).__name__ == "DRUNet":
            os.kill(os.getpid(), signal.SIGSTOP)

    register_module_forward_pre_hook(stop)
"""


@pytest.fixture
def suite(runs, missing):
    if find_spec("deepinv") is None:
        missing("deepinv", how_to_install("reconstruct"))
    path = runs.home / "tiny.toml"
    path.write_text(SUITE)
    return path


def ranks_on_a_node(runs, most):
    """Options of a site whose nodes take so many ranks each."""
    return ("--site", runs.site(more=f"tasks_per_node = {most}\n"))


def test_two_and_four_ranks_share_an_image_by_one_job_each(runs, suite):
    process = runs.command(
        *("run", suite, *ranks_on_a_node(runs, 2), "--executor", "slurm"),
        *("--workers", "2,4", "--repeats", "1"),
    )
    runs.completed(process)
    rows = pl.read_parquet(runs.run.path / "reconstruction.parquet")
    ranks = rows.group_by("workers", "rank").agg(
        pl.col("node", "status", "backend", "tiles_here").first(), pl.len()
    )
    first, second = runs.slurm.nodes
    places = [(2, 0, first), (2, 1, first)]
    places += [(4, rank, node) for rank, node in enumerate((first, first, second, second))]
    assert ranks.sort("workers", "rank").rows() == [
        (*place, "done", "gloo", 4 // place[0], ITERATIONS) for place in places
    ]
    parts = pl.sum_horizontal(f"{name}_s" for name in COMPONENTS)
    rest = rows.group_by("workers", "rank").agg(
        ((pl.col("wall_s") - parts).abs() / pl.col("wall_s")).median().alias("share")
    )
    assert rest["share"].max() <= REST_SHARE
    points = pl.read_csv(runs.run.report / "benchmark_reconstruct_points.csv").sort("workers")
    assert points.select("workers", "failed", "gate").rows() == [
        *((2, 0, "agrees"), (4, 0, "agrees"))
    ]
    assert points["gate_gradient"].max() <= GRADIENT_TOLERANCE
    assert points["gate_interior"].max() <= DENOISER_TOLERANCE
    trials = {trial.workers: trial for trial in runs.run.plan.trials}
    checked = read_task(runs.run.task(trials[4], "check")).result
    assert checked.agreement.same
    for trial in trials.values():
        jobs = read_jobs(runs.run.trial(trial))
        assert len({jobs[name] for name in trial.window_tasks}) == 1


def test_emitted_scripts_let_ranks_on_two_nodes_share_an_image(runs, suite):
    runs.say("run", suite, *ranks_on_a_node(runs, 1), "--workers", "2", "--emit-sbatch", "scripts")
    scripts = runs.home / "scripts"
    assert complete_scripts(runs.slurm, scripts) == [
        "colour-n2/windows.sbatch",
        "colour-n2/merge.sbatch",
    ]
    records = [scripts / "colour-n2" / task / "result.json" for task in ("w0", "w1")]
    ranks = [TaskResult.model_validate_json(record.read_bytes()) for record in records]
    assert [rank.stamp["slurm"]["SLURMD_NODENAME"] for rank in ranks] == list(runs.slurm.nodes)
    measured = [rank.of(Reconstruction)[0] for rank in ranks]
    assert [found.tiling.tiles_here for found in measured if found] == [2, 2]
    assert measured[0].gate.gradient is not None
    assert measured[0].gate.gradient <= GRADIENT_TOLERANCE
    (image,) = (scripts / "colour-n2" / "merge").rglob("reconstruction.tif")
    assert read_image(image.parent).shape == (3, SIZE_PX, SIZE_PX)
    assert list((scripts / "colour-n2" / "meeting").iterdir()) == []


def test_a_rank_that_is_killed_in_an_iteration_ends_all_and_is_named_with_its_node(runs, suite):
    with (runs.python_path / "sitecustomize.py").open("a") as file:
        file.write(STOP_IN_AN_ITERATION)
    process = runs.command(
        *("run", suite, *ranks_on_a_node(runs, 1), "--executor", "slurm"),
        *("--workers", "2", "--repeats", "1", "--retries", "0"),
    )
    lost = runs.launched(process, "w1")
    rank = psutil.Process(lost.pid)
    runs.slurm.wait_for(lambda: rank.status() == psutil.STATUS_STOPPED, "w1 was amid an iteration")
    assert runs.job_of("w0") == runs.job_of("w1")
    rank.kill()
    # Without its record the others would wait for ever, and so would this.
    code, said = runs.finished(process)
    assert code == 1
    why = f"the process on {lost.node} was killed by SIGKILL"
    assert f"w1: {why}" in said
    assert runs.living_jobs() == []
    other, own = (error_of(runs.trial / task) for task in ("w0", "w1"))
    assert why in own.message
    assert other.kind == "LostRank"
    # Said by its launcher, or by the connection where that was the first to say so.
    assert re.search(rf"rank 1 .*on {lost.node} (was killed by SIGKILL|broke)", other.message)
    rows = pl.read_parquet(runs.run.path / "reconstruction.parquet").sort("rank")
    assert rows.select("rank", "status", "error").rows() == [
        *((0, "failed", other.message), (1, "failed", own.message))
    ]
