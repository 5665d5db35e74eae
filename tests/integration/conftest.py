"""The command line as a user has it, and real movies small enough to run in seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from commandline import Answer, answer_of
from heldtasks import HeldTasks
from pyscale_stages.moviewriter import write_movie

CommandLine = Callable[..., Answer]


@pytest.fixture(autouse=True, scope="module")
def _without_figures(without_figures: None) -> None:
    """What is drawn is not the point here; tests that look at it have PYTHONPATH without it."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_data: Path) -> Path:
    """A working folder whose runs and datasets are its own, and whose mirror is a folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSCALE_DATA_FOLDER", str(tmp_path / "data"))
    monkeypatch.setenv("PYSCALE_MIRROR", str(shared_data))
    return tmp_path


@pytest.fixture
def pyscale(home: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Run a command in this process."""
    return partial(answer_of, capsys, "pyscale")


@pytest.fixture
def start(home: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a command as a process of its own, which does not outlive the test."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "pyscale", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def moving_squares() -> Callable[[Path], Path]:
    """Write six frames of labelled squares that move and touch into a folder."""

    def write(folder: Path) -> Path:
        frames = np.zeros((6, 48, 48), np.uint16)
        for t in range(6):
            frames[t, 4 + t : 12 + t, 4:12] = 1
            frames[t, 4 + t : 12 + t, 12:20] = 2
            frames[t, 30:38, 20 + t : 28 + t] = 3
        write_movie(folder / "labels.ome.tif", frames, "TYX")
        return folder / "labels.ome.tif"

    return write


@pytest.fixture
def held(home: Path, monkeypatch: pytest.MonkeyPatch) -> HeldTasks:
    """The first tasks of a run stand still, so that it does not end before it is disturbed."""
    folder = home / "python_path"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    return HeldTasks(folder)


@pytest.fixture
def labels(home: Path, moving_squares: Callable[[Path], Path]) -> Path:
    """A movie of labels in the working folder."""
    return moving_squares(home)
