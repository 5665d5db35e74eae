"""Steps that are real programs of a few lines, run in a task of the stage `command`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from movingsquares import write_moving_squares
from pyscale_stages.contract import TaskResult
from stagetasks import run_verb

RunStep = Callable[..., TaskResult]


@pytest.fixture
def movie(tmp_path: Path) -> Path:
    """A movie of labels."""
    return write_moving_squares(tmp_path / "labels.ome.tif")


@pytest.fixture
def step(tmp_path: Path, movie: Path) -> RunStep:
    """Run a program over a window of the movie, or a verb over folders."""

    def run(
        program: str,
        words: str = "{input} {output} {first} {stop}",
        *,
        verb: str = "run",
        inputs: list[Path] | None = None,
        into: Path | None = None,
        frames: tuple[int, int] | None = (0, 4),
        movie_frames: int = 6,
        threads: int = 1,
        **keys: Any,
    ) -> TaskResult:
        script = tmp_path / "program.py"
        script.write_text(program)
        params = {"command": f"{sys.executable} program.py {words}", "folder": str(tmp_path)}
        slots = ["input", "input2"] if verb == "run" else [""] * 9
        return run_verb(
            "command",
            verb,
            zip(slots, inputs or [movie], strict=False),
            output=into or tmp_path / "out",
            frames=frames if verb == "run" else None,
            movie_frames=movie_frames,
            threads=threads,
            params=params | keys,
        )

    return run
