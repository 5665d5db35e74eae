"""The libraries of the charts as one script, and what a page gives to its scripts."""

import json
from pathlib import Path

import pytest

from pyscale.report.page import shell


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A small script in place of the libraries, and how often it was made."""
    calls = []

    def make():
        calls.append(1)
        return "window.vega = 1;"

    monkeypatch.setattr(shell, "user_cache_path", lambda _name: tmp_path / "cache")
    monkeypatch.setattr(shell, "_made", make)
    return calls


def test_it_is_made_once_and_anew_of_another_version_and_by_another_maker(
    made, monkeypatch, tmp_path
):
    assert shell.vega_bundle() == shell.vega_bundle()
    assert len(made) == 1
    monkeypatch.setattr(shell, "version", lambda _name: "999")
    shell.vega_bundle()
    assert len(made) == 2
    changed = tmp_path / "shell.py"
    changed.write_text(f"{Path(shell.__file__).read_text()}\n# Another way to make it.\n")
    monkeypatch.setattr(shell, "__file__", str(changed))
    shell.vega_bundle()
    assert len(made) == 3


def test_without_room_for_it_the_page_has_it_all_the_same(made, tmp_path):
    (tmp_path / "cache").write_text("a file in the way")
    for _ in range(2):
        assert shell.vega_bundle().endswith("\nwindow.vega = 1;")
    assert len(made) == 2


def test_what_was_kept_half_is_made_anew(made, tmp_path):
    shell.vega_bundle()
    (kept,) = (tmp_path / "cache" / "page").iterdir()
    kept.write_bytes(b"\xff\xfe\x00")
    assert shell.vega_bundle().endswith("\nwindow.vega = 1;")


def test_the_real_one_sets_what_the_charts_use_and_begins_with_copyright_notices():
    script = shell.vega_bundle()
    assert "window.vegaEmbed" in script
    # It cannot end the script that it stands in.
    assert "</script" not in script
    notices, closed, _ = script.partition("*/")
    assert notices.startswith("/*!\nVega 6.")
    assert closed
    for part in ("Vega-Lite 6.", "Vega-Embed ", "D3 (ISC): Copyright (c) 2010-2023 Mike Bostock"):
        assert f"\n{part}" in notices
    assert "Copyright (c) 2015-2023, University of Washington Interactive Data Lab" in notices
    # The licence asks for its whole text, which comes with the libraries.
    assert "Redistributions in binary form must reproduce the above copyright notice" in notices
    assert "THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS" in notices


def test_no_text_ends_the_script_that_it_stands_in():
    text = shell.script_json({"stage": "</script><!-- \u2028 é"})
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == {"stage": "</script><!-- \u2028 é"}
