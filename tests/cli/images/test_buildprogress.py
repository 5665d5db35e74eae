"""Off a terminal a build tells each step in a line, and keeps what programs say to its log."""

from __future__ import annotations

import re

import pytest

from pyscale.images.buildlog import BuildEvent
from pyscale.images.buildprogress import BuildProgress


def test_each_step_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
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


def test_a_terminal_shows_what_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
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
