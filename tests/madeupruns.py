"""Folders of runs whose wall time says nothing, made up: ranks that load, or that reconstruct.

`loader_run` and `reconstruct_run` leave the records of their entries on one rank and on two, six
times. A trial takes longer in each later block, and all that is `slower` so many times as long.
"""

import json

from mockexecutor import MockExecutor
from pyscale.measuring.benchmark import execute
from pyscale.planning.planentry import Dataset
from pyscale.planning.planner import make_plan
from pyscale.planning.suite import Suite, SuiteStage
from pyscale.settings import load_settings
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import PROVENANCE_FILE
from pyscale.store.records import RESULT_FILE, SURROUNDINGS_FILE, Bystanders, Surroundings
from pyscale_stages.loading import BatchWindow, Diversity, Loading
from pyscale_stages.reconstruction import Iteration, Reconstruction, Tiling

WORKERS = (1, 2)
REPEATS = 6
POOLS = (8, 16)
MADE_FROM = {"git_commit": "a" * 40, "git_dirty": False, "pyscale_version": "1.2.3"}


def loader_run(root, name, *, slower=1.0, repeats=REPEATS, patch_px=256):
    """Make a run of ranks that load patches of slides."""
    slides = root / "slides"
    slides.mkdir(parents=True, exist_ok=True)
    for number in range(2):
        (slides / f"{number}.svs").write_bytes(bytes([number]))
    steps = {
        f"pool{size}": SuiteStage(
            stage="loader",
            inputs={"slides": "slides"},
            params={"num_workers": 2, "pool_size": size, "patch_px": patch_px},
        )
        for size in POOLS
    }
    suite = Suite(name="loader", summary="Loads", data="slides", stages=steps)

    def measured(trial):
        size = int(trial.params["pool_size"])
        window = BatchWindow(
            wall_s=slower * (4 + 0.1 * size + 0.01 * trial.block),
            waits_s=(0.1, 0.2),
            steps_s=(0.2, 0.3),
            patches=320,
            cache="verified-cold",
        )
        return Loading(
            factory="wsistream",
            slides=2,
            cores=2,
            batch_size=64,
            patch_bytes=12 * patch_px**2,
            free=window,
            together=window,
            pss_bytes=500,
            rss_bytes=800,
            diversity=Diversity(
                patches=300, slides_per_batch=3.5, distance_px=None, effective_slides=size / 2
            ),
            checksum="5eed",
            checksum_patches=64,
        )

    dataset = Dataset(slides, frames=2)
    return _made(root, name, suite, dataset, "loading", measured, repeats)


def reconstruct_run(root, name, *, slower=1.0, repeats=REPEATS, size_px=128):
    """Make a run of ranks that reconstruct an image, whose denoiser alone is `slower`."""
    root.mkdir(parents=True, exist_ok=True)
    step = SuiteStage(stage="reconstruct", params={"size_px": size_px, "tile_px": 64})
    suite = Suite(name="deblur", summary="Deblurs", data="phantom", stages={"deblur": step})

    def measured(trial):
        workers = trial.workers
        times_s = {
            "gradient_s": 0.1,
            "denoiser_s": slower * (0.5 + 0.001 * trial.block) / workers,
            "communication_s": 0.05 * (workers - 1),
            "gather_s": 0.0,
            "barrier_s": 0.0,
        }
        one = Iteration(wall_s=sum(times_s.values()) + 0.001, **times_s)
        return Reconstruction(
            problem="colour_deblur",
            shape=(3, size_px, size_px),
            operators=8,
            operators_here=8 // workers,
            weights="random",
            timing_only=True,
            tiling=Tiling(tile_px=64, overlap_px=8, tiles=8, tiles_here=4, work_multiplier=1.5),
            backend="gloo",
            device="a processor",
            setup_s=3.5,
            iterations=(one, one),
            objective=12.5,
            objectives_s=(0.3, 0.4),
            psnr_db=30.0,
        )

    return _made(root, name, suite, None, "reconstruction", measured, repeats)


def _made(root, name, suite, dataset, table, measured, repeats):
    """Let ranks pretend to run, and then have measured what their block and N give."""
    settings = load_settings(repeats=repeats, runs_folder=root / "runs", cpus_per_worker=1)
    plan = make_plan(
        suite,
        dataset,
        run_id=f"20260317T114224Z-{name}",
        settings=settings.model_dump(mode="json"),
        workers=WORKERS,
    )
    run = RunFolder.create(root / "runs", plan)
    execute(run, MockExecutor(), lambda _event: None)
    idle = Bystanders(node="node1", cores=32, pyscale_tasks=0, runnable=0.0)
    alone = Surroundings(start=idle).model_dump_json()
    for trial in plan.trials:
        (run.trial(trial) / SURROUNDINGS_FILE).write_text(alone)
        found = measured(trial).model_dump(mode="json")
        for task in trial.window_tasks:
            file = run.task(trial, task) / RESULT_FILE
            file.write_text(
                json.dumps(json.loads(file.read_text()) | {"samples": {table: [found]}})
            )
    file = run.path / PROVENANCE_FILE
    file.write_text(json.dumps(json.loads(file.read_bytes()) | MADE_FROM))
    return run.path
