"""A small synthetic movie, segmented once, and the command line in this process."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyscale_stages.commandline import main
from pyscale_stages.contract import TaskResult
from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie

CELLPOSE4_VARIABLE = "PYSCALE_TEST_CELLPOSE4"

MOVIE = SynthParams(
    seed=950_001, frames=5, height_px=128, width_px=144, cells=22, cell_types=2, radius_px=8
)

Outcome = tuple[int, str]
"""Exit code, and what was said on stderr."""


@pytest.fixture(scope="session")
def movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a movie of two cell types, with its truth."""
    return write_synthetic_movie(tmp_path_factory.mktemp("synth") / "movie", MOVIE)


@pytest.fixture
def segment(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Outcome]:
    """Run `segment VERB` with options; parameters are given as keywords."""

    def run(verb: str, *options: object, **params: object) -> Outcome:
        line = ["segment", verb, *(str(option) for option in options)]
        if params:
            file = tmp_path / "params.json"
            file.write_text(json.dumps(params), encoding="utf-8")
            line += ["--params", str(file)]
        code = main(line, time.monotonic())
        return code, capfd.readouterr().err

    return run


@pytest.fixture(scope="session")
def whole(movie: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Output folder of all frames of the movie, with the record of its task."""
    return segmented(movie, tmp_path_factory.mktemp("segment") / "whole")


def segmented(movie: Path, folder: Path, *options: str) -> Path:
    """Segment a synthetic movie into a folder."""
    file = movie / "movie.ome.tif"
    line = ["--input", str(file), "--output", str(folder), "--result", str(folder / "result.json")]
    assert main(["segment", "run", *line, *options], time.monotonic()) == 0
    return folder


@pytest.fixture(scope="session")
def windows(movie: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Output folders of three uneven windows of the movie."""
    parent = tmp_path_factory.mktemp("windows")
    return [
        segmented(movie, parent / window.replace(":", "_"), "--frames", window)
        for window in ("0:2", "2:3", "3:5")
    ]


def record(folder: Path) -> TaskResult:
    """Read the record beside an output."""
    return TaskResult.model_validate_json((folder / "result.json").read_bytes())


@pytest.fixture
def read_record() -> Callable[[Path], Any]:
    """Read the record of a task from its output folder."""
    return record


@pytest.fixture(scope="session")
def cellpose4(missing: Callable[[str, str], None]) -> Path:
    """Folder from which Cellpose 4 can be imported."""
    given = os.environ.get(CELLPOSE4_VARIABLE, "")
    folder = Path(given)
    if not given or not (folder / "cellpose").is_dir():
        missing(
            "Cellpose 4",
            "`make test` installs it into a folder of its own and names that in "
            f"{CELLPOSE4_VARIABLE}",
        )
    return folder.resolve()
