"""The log of a build holds all, and names the line that tells why it failed."""

import re

import pytest

from pyscale.images.buildlog import BuildEvent, BuildLog, BuildProgress

ENDED = "FATAL:   While performing build: while running engine: exit status"
NO_NUMPY = "ERROR: No matching distribution found for numpy==1"
NO_PACKAGE = "E: Unable to locate package nosuch"
NO_FILE = "Unable to build from x.def: unable to open file x.def: no such file"
PIP = ["INFO:    Running post scriptlet", "+ pip install numpy==1", NO_NUMPY, f"{ENDED} 1"]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (PIP, NO_NUMPY),
        ([NO_PACKAGE, f"{ENDED} 100"], NO_PACKAGE),
        ([f"FATAL:   {NO_FILE}"], NO_FILE),
        (["half a sentence", f"{ENDED} 3"], "half a sentence"),
        ([f"{ENDED} 3"], "While performing build: while running engine: exit status 3"),
        ([], "no output"),
        (["\x1b[31mFATAL:  \x1b[0m no such image"], "no such image"),
    ],
)
def test_the_telling_line_is_found(tmp_path, said, reason):
    with BuildLog(tmp_path / "logs", "contact") as log:
        for line in said:
            log.write(line + "\n")
        assert log.reason() == reason


def test_all_that_was_said_is_in_the_file_of_each_log(tmp_path):
    with BuildLog(tmp_path, "contact") as log, BuildLog(tmp_path, "contact") as second:
        for number in range(1000):
            log.write(f"line {number}\n")
    assert len(log.path.read_text().splitlines()) == 1000
    assert log.path.name.startswith("contact-")
    assert log.path != second.path


@pytest.mark.parametrize(
    "line",
    [
        "dpkg: error: failed to write: No space left on device",
        "Write failed because Disk quota exceeded",
    ],
)
def test_a_full_disk_is_noticed(tmp_path, line):
    with BuildLog(tmp_path, "contact") as log:
        log.write("all is well")
        assert not log.full_disk
        log.write(line)
        assert log.full_disk


def test_each_step_is_one_line(capsys):
    with BuildProgress() as progress:
        progress.hear(BuildEvent("contact", "libraries", "waiting"))
        progress.hear(BuildEvent("contact", "libraries", "started"))
        progress.hear(BuildEvent("contact", "libraries", "said", "INFO: [all] of it"))
        progress.hear(BuildEvent("contact", "libraries", "finished"))
        progress.hear(BuildEvent("track", "image", "current"))
    answer = capsys.readouterr()
    assert answer.out == ""
    waiting, building, done, unchanged = answer.err.splitlines()
    assert waiting == "contact: libraries: waiting for another build that is making it"
    assert building == "contact: libraries: building"
    assert re.fullmatch(r"contact: libraries: done in \d+ s", done)
    assert unchanged == "track: nothing has changed"


def test_a_terminal_shows_what_goes_on(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with BuildProgress() as progress:
        progress.hear(BuildEvent("contact", "base", "started"))
        for number in range(3):
            progress.hear(BuildEvent("contact", "base", "said", f"[/] line {number} " + "x" * 200))
    shown = capsys.readouterr().err
    assert "Debian base" in shown
    assert "[/] line 2" in shown
