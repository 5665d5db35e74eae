"""Files that say how ranks ended."""

from __future__ import annotations

import os
from pathlib import Path

from pyscale_stages.ranks.ended import ended_file, first_end, tell_end


def test_the_rank_that_ended_first_is_the_one_that_is_named(tmp_path: Path) -> None:
    """The others end because of it, and are said to have ended too."""
    meeting = tmp_path / "ranks"
    for rank, second in ((0, 30), (1, 20), (2, 10)):
        tell_end(meeting, rank, f"by error {rank}")
        os.utime(ended_file(meeting, rank), (second, second))
    assert first_end(meeting, 0, 3) == (2, "by error 2")


def test_a_rank_does_not_hear_of_itself(tmp_path: Path) -> None:
    tell_end(tmp_path / "ranks", 1, "by an error")
    assert first_end(tmp_path / "ranks", 1, 2) is None


def test_a_folder_that_was_put_away_is_not_made_again(tmp_path: Path) -> None:
    tell_end(tmp_path / "meeting" / "ranks", 1, "by an error")
    assert list(tmp_path.iterdir()) == []
    assert first_end(tmp_path / "meeting" / "ranks", 0, 2) is None


def test_what_a_rank_says_of_itself_stays_when_its_launcher_tells_too(tmp_path: Path) -> None:
    tell_end(tmp_path / "ranks", 1, "slide 7 is no slide")
    tell_end(tmp_path / "ranks", 1, "its process ended with exit code 2")
    assert first_end(tmp_path / "ranks", 0, 2) == (1, "slide 7 is no slide")
