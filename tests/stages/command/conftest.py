"""Steps that are real programs of a few lines, run in a task of the stage `command`."""

import sys

import pytest

from movingsquares import write_moving_squares
from stagetasks import run_verb


@pytest.fixture
def movie(tmp_path):
    """A movie of labels."""
    return write_moving_squares(tmp_path / "labels.ome.tif")


@pytest.fixture
def step(tmp_path, movie):
    """Run a program over a window of the movie, or a verb over folders."""

    def run(
        program,
        words="{input} {output} {first} {stop}",
        *,
        verb="run",
        inputs=None,
        into=None,
        frames=(0, 4),
        movie_frames=6,
        threads=1,
        **keys,
    ):
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
