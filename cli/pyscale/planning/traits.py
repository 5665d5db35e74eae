"""What planning, running and reading ask of a stage and of the data that a suite measures on.

Of a stage they ask how N workers stand to its work: each function takes its name, and
`entries_that` of a suite and of a plan finds entries by one.
"""

from __future__ import annotations

from typing import NamedTuple

from pyscale_stages.reading import Reading
from pyscale_stages.registry import load_stage


class Data(NamedTuple):
    """What suites have in common that measure on one kind of data."""

    unit: str = "frames"
    """What is counted of it."""
    does: str = ""
    """What such a suite does, where it reads no movie."""
    without_meaning: tuple[str, ...] = ()
    """Settings that say how a movie is read and shared."""
    given: str = ""
    """What N workers are given, where they share no frames: each counts as having one."""
    named: str = ""
    """What it is called, where there is no dataset."""
    never_same: str = ""
    """What outputs hold that are not the same twice."""


OF_FILES = tuple(Reading.model_fields)
"""Settings that say what of its files is the movie."""
_OF_A_MOVIE = ("data", "truth", *OF_FILES, "scaling", "chunks_per_worker", "cache")
DATA = {
    "movie": Data(),
    "labels": Data(),
    "files": Data("files", "shares the files of a folder", ("truth", *OF_FILES)),
    "tiles": Data("tiles", "shares the tiles of an image", ("truth",)),
    "slides": Data(
        "slides",
        "loads patches of slides",
        ("truth", *OF_FILES, "scaling"),
        given="N ranks load patches at the same time, each from its own slides",
        never_same="rates of loading patches",
    ),
    "place": Data(
        does="measures the machine itself",
        without_meaning=_OF_A_MOVIE,
        given="every worker measures the machine by itself, all at once",
        named="the machine itself",
        never_same="times of the machine",
    ),
    "phantom": Data(
        does="works on images that it makes itself",
        without_meaning=_OF_A_MOVIE,
        given="strong: N ranks share the work on one image, the same at every N",
        named="images made for it",
    ),
}
"""By what a suite says of its data."""


def shares_windows(stage: str) -> bool:
    """Whether N workers split a movie, so that wall times tell how it scales."""
    return load_stage(stage).work == "split"


def stands_apart(stage: str) -> bool:
    """Whether wall times say nothing of N workers: its findings are of another kind."""
    return not shares_windows(stage)


def meets(stage: str) -> bool:
    """Whether its workers are ranks, which run at the same time and meet."""
    return load_stage(stage).meets


def has_own_work(stage: str) -> bool:
    """Whether each of these ranks has as much work as one alone, so that rates count."""
    return load_stage(stage).work == "own"


def shares_result(stage: str) -> bool:
    """Whether these ranks share one piece of work, too large for few of them perhaps."""
    return load_stage(stage).work == "shared"


def measures_alone(stage: str) -> bool:
    """Whether each worker does all of it: what its node can do, by test files of its own."""
    return load_stage(stage).work == "each"
