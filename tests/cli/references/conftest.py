"""References of one's own in a folder of a test, and the command line on them."""

import pytest

from commandline import run_line
from pyscale.commands.resultcommands import reference_app

TOML = """
title = "Our cluster"
source = "Ourselves"
figures = "wall times"
caveats = ["One run."]
sweep = "workers"

[hardware]
processor = "not told"

[stages]
cells = "segment"
"""
CSV = "stage,workers,wall_s\ncells,1,80\ncells,2,50\nother,1,9\n"


@pytest.fixture
def toml():
    """What describes a reference of one's own."""
    return TOML


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The user's folder of references, in a working folder without settings."""
    folder = tmp_path / "references"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSCALE_REFERENCES_FOLDER", str(folder))
    return folder


@pytest.fixture
def write(own):
    """Write a reference of one's own; None leaves a file out."""

    def write_files(name="ours", toml=TOML, csv=CSV):
        own.mkdir(exist_ok=True)
        for suffix, text in ((".toml", toml), (".csv", csv)):
            if text is not None:
                (own / name).with_suffix(suffix).write_text(text)
        return own / f"{name}.toml"

    return write_files


@pytest.fixture
def reference(own):
    """Run `pyscale reference …`."""
    return lambda *words: run_line(reference_app, *map(str, words))
