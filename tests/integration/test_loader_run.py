"""Loading patches, from the command line: ranks that meet, and what a run of them leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from commandline import Answer
from pyscale.store.folder import find_run
from pyscale.store.taskfiles import read_task
from pyscale_stages.slides.synthetic import SlidesParams, write_slides

CommandLine = Callable[..., Answer]

TINY = """
name = "tiny"
summary = "Some patches, in a moment"
data = "slides"

[stages.loader]
inputs = {{ slides = "slides" }}
threads = "all"

[stages.loader.params]
factory = "{factory}"
num_workers = 1
batch_size = 4
batches = 4
warmup_batches = 1
patch_px = 64
"""
DYING = """
import os, signal

def make_dataset(slide_paths, pool_size, patches_per_slide, patches_per_visit, seed):
    if any("000" in path for path in slide_paths):
        from pyscale_stages.loader.factories import factory_of
        from pyscale_stages.loader.params import LoaderParams

        make = factory_of(LoaderParams(patch_px=64))
        return make(slide_paths, pool_size, patches_per_slide, patches_per_visit, seed)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def slides(home: Path) -> Path:
    """Three small slides."""
    folder = home / "slides"
    folder.mkdir()
    write_slides(folder, SlidesParams(slides=3, height_px=512, width_px=512), lambda *_: None)
    return folder


@pytest.fixture
def suite(home: Path) -> Callable[..., Path]:
    """Write a suite of one configuration, with a factory."""

    def write(factory: str = "pyscale") -> Path:
        path = home / "tiny.toml"
        path.write_text(TINY.format(factory=factory))
        return path

    return write


@pytest.mark.slow
def test_two_ranks_meet_and_what_each_got_is_kept(
    pyscale: CommandLine, home: Path, slides: Path, suite: Callable[..., Path]
) -> None:
    options = ("--data", slides, "--workers", "1,2", "--repeats", "1")
    answer = pyscale("run", suite(), *options)
    assert answer.code == 0, answer.err
    run = find_run(home / "runs", None)
    together = {}
    for trial in run.plan.trials:
        for name in trial.window_tasks:
            result = read_task(run.task(trial, name)).result
            assert result is not None
            assert result.loading is not None
            together[trial.workers, name] = result.loading.together is not None
    assert together == {(1, "w0"): False, (2, "w0"): True, (2, "w1"): True}
    table = pl.read_parquet(run.path / "loading.parquet")
    assert table.select("workers", "rank").sort("workers", "rank").rows() == [
        (1, 0),
        (2, 0),
        (2, 1),
    ]
    assert set(table["cache_state"]) == {"verified-cold"}
    assert pyscale("run", "--resume", run.path.name).code == 0
    advice = pyscale("advise", run.path.name)
    assert (advice.code, "measured how patches are loaded" in advice.err) == (2, True)


@pytest.mark.slow
def test_a_rank_that_is_killed_ends_the_others_and_is_why_the_trial_failed(
    pyscale: CommandLine,
    home: Path,
    slides: Path,
    suite: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (home / "dying_factory.py").write_text(DYING)
    monkeypatch.setenv("PYTHONPATH", str(home))
    monkeypatch.setenv("PYSCALE_RETRIES", "0")
    options = ("--data", slides, "--workers", "2", "--repeats", "1")
    answer = pyscale("run", suite("dying_factory:make_dataset"), *options)
    assert answer.code == 1
    run = find_run(home / "runs", None)
    (trial,) = run.plan.trials
    errors = {name: read_task(run.task(trial, name)).error for name in trial.window_tasks}
    assert errors["w0"] is not None
    assert errors["w1"] is not None
    assert (errors["w0"].kind, errors["w1"].kind) == ("LostRank", "Killed")
    table = pl.read_parquet(run.path / "loading.parquet").sort("rank")
    assert table["status"].to_list() == ["failed", "failed"]
    journal = run.journal_file.read_text()
    assert "w1: the process was ended by SIGKILL" in journal


def test_more_ranks_than_slides_are_refused_before_a_run_is_made(
    pyscale: CommandLine, home: Path, slides: Path, suite: Callable[..., Path]
) -> None:
    answer = pyscale("run", suite(), "--data", slides, "--workers", "4", "--repeats", "1")
    assert answer.code == 2
    assert "has 3 slides: ask for fewer --workers, or give more slides" in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert not (home / "runs").exists()
