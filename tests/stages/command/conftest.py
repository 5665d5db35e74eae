"""Steps that are real programs of a few lines, run in a task of the stage `command`."""

import sys

import pytest

from movingsquares import write_moving_squares
from refusals import assert_held
from stagetasks import run_verb


@pytest.fixture
def movie(tmp_path):
    return write_moving_squares(tmp_path / "labels.ome.tif")


class Steps:
    """Programs of a few lines as steps over a movie, in a folder."""

    def __init__(self, folder, movie):
        self.folder = folder
        self._movie = movie

    def __call__(
        self,
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
        """Run a program over a window of the movie, or a verb over folders."""
        (self.folder / "program.py").write_text(program)
        params = {"command": f"{sys.executable} program.py {words}", "folder": str(self.folder)}
        slots = ["input", "input2"] if verb == "run" else [""] * 9
        return run_verb(
            "command",
            verb,
            zip(slots, inputs or [self._movie], strict=False),
            output=into or self.folder / "out",
            frames=frames if verb == "run" else None,
            movie_frames=movie_frames,
            threads=threads,
            params=params | keys,
        )

    def done(self, *given, **keys):
        result = self(*given, **keys)
        assert result.status == "done", result.error
        return result

    def refused(self, *given, **keys):
        """The same, which must fail in the stored words; return them."""
        result = self(*given, **keys)
        assert result.status == "failed"
        assert_held(f"exit {result.error.exit_code}: {result.error.message}")
        return result.error.message

    def merged(self, folder, windows, *given, done=True, **keys):
        """Run a program over windows, and join what it wrote, in any order."""
        parts = [folder / f"w{number}" for number in range(len(windows))]
        for part, frames in zip(parts, windows, strict=True):
            self.done(*given, frames=frames, into=part, **keys)
        join = self.done if done else self.refused
        return join(*given, verb="merge", inputs=parts[::-1], into=folder / "merged", **keys)


@pytest.fixture
def step(tmp_path, movie):
    return Steps(tmp_path, movie)
