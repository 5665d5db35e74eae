"""Loading patches, from the command line: ranks that meet, and what a run of them leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple

import polars as pl
import psutil
import pytest
from watchfiles import watch

from commandline import Answer, answer_here
from forkedtasks import forked_tasks
from pyscale.store.folder import RunFolder, find_run
from pyscale.store.records import CACHE_FILE, LAUNCH_FILE
from pyscale.store.taskfiles import read_task
from pyscale_stages.loading import Loading
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.slides.synthetic import SlidesParams, slide_name, write_slides
from trials import launched

NO_FIGURES = Path(__file__).resolve().parents[1] / "nofigures"
PATIENCE_S = 500.0
"""How long a command may take, on a machine that has other work too."""
ONCE = ("--repeats", "1")
SLIDES = 4
SMALL = {
    "num_workers": 1,
    "batch_size": 4,
    "batches": 4,
    "warmup_batches": 1,
    "patch_px": 64,
    "start_method": "fork",
}
# What users write: it goes well until loader processes are spawned.
UNPICKLABLE = """
import torch
from torch.utils.data import IterableDataset

class Scaled(IterableDataset):
    def __init__(self):
        self.scale = lambda image: image / 255

    def __iter__(self):
        while True:
            yield {"image": self.scale(torch.zeros(3, 8, 8))}

def make_dataset(slide_paths, pool_size, patches_per_slide, patches_per_visit, seed):
    return Scaled()
"""
# As the documentation of wsistream has it.
THEIRS = """
from wsistream.backends import OpenSlideBackend
from wsistream.sampling import RandomSampler
from wsistream.tissue import OtsuTissueDetector
from wsistream.torch import WsiStreamDataset

def make_dataset(slide_paths, pool_size, patches_per_slide, patches_per_visit, seed):
    return WsiStreamDataset(
        slide_paths=slide_paths,
        backend=OpenSlideBackend(),
        tissue_detector=OtsuTissueDetector(),
        sampler=RandomSampler(patch_size=64),
        pool_size=pool_size,
        patches_per_slide=patches_per_slide,
        patches_per_visit=patches_per_visit,
        cycle=True,
        seed=seed,
    )
"""
# A pipe without a writer is like storage that no longer answers.
HELD = """
import os
from pathlib import Path

from torch.utils.data import IterableDataset

from pyscale_stages.loader.factories import factory_of
from pyscale_stages.loader.stage import LoaderParams

HERE = Path(__file__).parent

class Held(IterableDataset):
    def __init__(self, patches):
        self.patches = patches

    def __iter__(self):
        if (HERE / "pipe").exists():
            (HERE / f"waiting.{os.getpid()}").touch()
            (HERE / "pipe").read_bytes()
        yield from self.patches

def make_dataset(slide_paths, *settings):
    patches = factory_of(LoaderParams(patch_px=64))(slide_paths, *settings)
    is_of_first_rank = any("slide_000" in path for path in slide_paths)
    return patches if is_of_first_rank else Held(patches)
"""


def write_suite(folder, **entries):
    """Write a suite of small entries, each with parameters of its own."""
    lines = ['name = "tiny"', 'summary = "Some patches, in a moment"', 'data = "slides"']
    for entry, params in entries.items():
        lines += [f"[stages.{entry}]", 'stage = "loader"', 'inputs = { slides = "slides" }']
        lines += ['threads = "all"', f"[stages.{entry}.params]"]
        # TOML writes text and numbers as JSON does.
        lines += [f"{name} = {json.dumps(value)}" for name, value in (SMALL | params).items()]
    path = folder / "tiny.toml"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def slides(tmp_path_factory):
    folder = tmp_path_factory.mktemp("of slides") / "slides"
    return write_slides(folder, SlidesParams(slides=SLIDES, height_px=512, width_px=512))


class Left(NamedTuple):
    """What a run of three configurations left, one of which fails."""

    answer: Answer
    run: RunFolder

    def loading(self, entry, workers):
        (trial,) = (
            trial
            for trial in self.run.plan.trials
            if (trial.entry, trial.workers) == (entry, workers)
        )
        results = [read_task(self.run.task(trial, name)).result for name in trial.window_tasks]
        return [one for result in results if result for one in result.of(Loading)]

    def table(self, name):
        return pl.read_csv(self.run.report / name)


@pytest.fixture(scope="module")
def left(slides, tmp_path_factory):
    """A run of the shipped factory, an own one, and one that cannot be sent to loader processes."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "unpicklable.py").write_text(UNPICKLABLE)
    failing = {"factory": "unpicklable:make_dataset", "start_method": "spawn"}
    (folder / "theirs.py").write_text(THEIRS)
    own = {"factory": "theirs:make_dataset"}
    suite = write_suite(folder, ours={}, theirs=own, failing=failing)
    words = ("run", suite, "--data", slides, "--workers", "1,2", *ONCE, "--set", "retries=0")
    with forked_tasks():
        answer = answer_here(folder, *words, PYTHONPATH=folder)
    return Left(answer, find_run(folder / "runs", None))


def rate(window):
    return window.patches / window.wall_s


@pytest.mark.slow
@pytest.mark.parametrize("entry", ["ours", "theirs"])
def test_two_ranks_meet_and_what_they_deliver_is_measured_in_step(left, entry):
    (alone,) = left.loading(entry, 1)
    assert alone.together is None
    ranks = left.loading(entry, 2)
    in_step = [rank.together for rank in ranks if rank.together]
    assert len(in_step) == 2
    assert all(len(window.steps_s) == SMALL["batches"] for window in in_step)
    points = left.table("benchmark_loader.csv").filter(stage=entry).sort("workers")
    effective = sum(each.patches for each in in_step) / max(each.wall_s for each in in_step)
    assert points["patches_per_s"].to_list() == pytest.approx([rate(alone.free), effective])
    inferred = 2 * min(rate(rank.free) for rank in ranks)
    assert points["inferred_per_s"].to_list() == pytest.approx([rate(alone.free), inferred])


@pytest.mark.slow
def test_the_shipped_factory_delivers_the_patches_of_plain_wsistream(left):
    for workers in (1, 2):
        ours, theirs = (left.loading(entry, workers) for entry in ("ours", "theirs"))
        checksums = [rank.checksum for rank in ours]
        assert checksums == [rank.checksum for rank in theirs]
        assert len({*checksums}) == workers, "each rank has slides of its own"
        assert [rank.diversity for rank in ours] == [rank.diversity for rank in theirs]
    assert "delivered the same patches" in left.answer.text


@pytest.mark.slow
def test_slides_are_proved_cold_before_each_trial(left, slides):
    for trial in left.run.plan.trials:
        cache = json.loads((left.run.trial(trial) / CACHE_FILE).read_bytes())
        found = {Path(each["path"]).name: each["after"] for each in cache["evictions"]}
        assert cache["state"] == "verified-cold"
        for number in range(SLIDES):
            assert found[slide_name(number)]["resident_bytes"] == 0
    assert (slides / slide_name(0)).stat().st_size > 0
    states = pl.read_parquet(left.run.path / "loading.parquet")["cache_state"]
    assert set(states) == {"verified-cold"}


@pytest.mark.slow
def test_a_configuration_that_fails_is_a_row_with_its_error(left):
    assert left.answer.code == 1, left.answer.err
    assert "Traceback" not in left.answer.err
    points = left.table("benchmark_loader.csv").sort("stage", "workers")
    assert points.select("stage", "workers", "failed").rows() == [
        *(("failing", 1, 1), ("failing", 2, 1)),
        *(("ours", 1, 0), ("ours", 2, 0), ("theirs", 1, 0), ("theirs", 2, 0)),
    ]
    cannot_be_sent = "the factory unpicklable:make_dataset cannot be sent to loader processes"
    failed = points.filter(pl.col("failed") > 0)
    assert failed["error"].str.contains(cannot_be_sent, literal=True).all()
    assert failed["patches_per_s"].null_count() == 2
    assert cannot_be_sent in left.answer.text


def test_ranks_that_could_not_meet_are_refused_before_a_run_is_made(pyscale, home, slides):
    suite = write_suite(home, ours={})
    answer = pyscale("run", suite, "--data", slides, "--repeats", 1, "--workers", "5")
    assert answer.code == 2
    assert "has 4 slides: use fewer --workers, or add slides" in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert not (home / "runs").exists()


class Held(NamedTuple):
    """A run of two ranks whose second one waits for its first patch, and will for ever."""

    process: subprocess.Popen[str]
    run: RunFolder
    home: Path

    @property
    def loader_processes(self):
        return [int(file.suffix[1:]) for file in self.home.glob("waiting.*")]

    def left_over(self):
        """Processes that still work for the run."""
        return [
            process
            for process in psutil.process_iter(["cwd", "status"])
            # What is left of one that has ended goes when its parent asks for it.
            if process.info["status"] != psutil.STATUS_ZOMBIE
            and (
                process.pid in self.loader_processes
                or Path(process.info["cwd"] or "/").is_relative_to(self.run.path)
            )
        ]

    def ended(self):
        """Wait until pyscale has ended, and nothing of the run is left; return its exit code."""
        _, said = self.process.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in said
        assert self.left_over() == []
        return self.process.returncode

    def release(self):
        """Let what comes from now on load patches."""
        (self.home / "pipe").unlink()


@pytest.fixture
def held(start, home, slides, monkeypatch):
    """Start a run of two ranks, and wait until it is in its middle."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(home), str(NO_FIGURES)]))
    monkeypatch.setenv("PYSCALE_RETRIES", "0")
    (home / "held.py").write_text(HELD)
    os.mkfifo(home / "pipe")
    suite = write_suite(home, mine={"factory": "held:make_dataset"})
    process = start("run", suite, "--data", slides, "--workers", "2", *ONCE)
    for _ in watch(home, rust_timeout=100, yield_on_timeout=True, step=5, watch_filter=None):
        assert process.poll() is None, process.communicate()
        # Its launcher may be slower to write down what it has started.
        begun = any(home.glob(f"runs/*/tasks/*/w1/{LAUNCH_FILE}"))
        if begun and any(home.glob("waiting.*")):
            break
    return Held(process, find_run(home / "runs", None), home)


@pytest.mark.slow
def test_a_rank_that_is_killed_ends_the_others_and_is_why_the_trial_failed(pyscale, held):
    (trial,) = held.run.plan.trials
    os.kill(launched(held.run.task(trial, "w1")).pid, signal.SIGKILL)
    assert held.ended() == 1
    errors = [read_task(held.run.task(trial, name)).error for name in trial.window_tasks]
    assert [error.kind for error in errors if error] == ["LostRank", "Killed"]
    table = pl.read_parquet(held.run.path / "loading.parquet").sort("rank")
    assert table["status"].to_list() == ["failed", "failed"]
    how = f"w1: the process on {node_name()} was killed by SIGKILL"
    assert how in held.run.journal_file.read_text()
    held.release()
    assert pyscale("resume", held.run.path.name).code == 0
