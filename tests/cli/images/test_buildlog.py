"""The log of a build holds all, and names the line that tells why it failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyscale.images.buildlog import BuildLog


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            [
                "INFO:    Running post scriptlet",
                "+ pip install numpy==1",
                "ERROR: No matching distribution found for numpy==1",
                "FATAL:   While performing build: while running engine: exit status 1",
            ],
            "ERROR: No matching distribution found for numpy==1",
        ),
        (
            [
                "E: Unable to locate package nosuch",
                "FATAL:   While performing build: while running engine: exit status 100",
            ],
            "E: Unable to locate package nosuch",
        ),
        (
            ["FATAL:   Unable to build from x.def: unable to open file x.def: no such file"],
            "Unable to build from x.def: unable to open file x.def: no such file",
        ),
        (
            [
                "half a sentence",
                "FATAL:   While performing build: while running engine: exit status 3",
            ],
            "half a sentence",
        ),
        (
            ["FATAL:   While performing build: while running engine: exit status 3"],
            "While performing build: while running engine: exit status 3",
        ),
        ([], "no output"),
        (["\x1b[31mFATAL:  \x1b[0m no such image"], "no such image"),
    ],
)
def test_the_telling_line_is_found(tmp_path: Path, said: list[str], reason: str) -> None:
    with BuildLog(tmp_path / "logs", "contact") as log:
        for line in said:
            log.write(line + "\n")
        assert log.reason() == reason


def test_all_that_was_said_is_in_the_file(tmp_path: Path) -> None:
    with BuildLog(tmp_path, "contact") as log:
        for number in range(1000):
            log.write(f"line {number}\n")
    assert len(log.path.read_text().splitlines()) == 1000
    assert log.path.name.startswith("contact-")


def test_two_logs_of_one_image_are_two_files(tmp_path: Path) -> None:
    with BuildLog(tmp_path, "contact") as first, BuildLog(tmp_path, "contact") as second:
        assert first.path != second.path


@pytest.mark.parametrize(
    "line",
    [
        "dpkg: error: failed to write: No space left on device",
        "Write failed because Disk quota exceeded",
    ],
)
def test_a_full_disk_is_noticed(tmp_path: Path, line: str) -> None:
    with BuildLog(tmp_path, "contact") as log:
        log.write("all is well")
        assert not log.full_disk
        log.write(line)
        assert log.full_disk
