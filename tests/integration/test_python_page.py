"""The page on Python does what it says, block by block."""

import re
from pathlib import Path

import pytest

from pyscale.store.folder import RunFolder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


@pytest.mark.slow
def test_each_block_of_the_page_runs_after_those_before_it(home, monkeypatch, capsys):
    monkeypatch.syspath_prepend(home)
    known = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), known)
    assert known["run"].incomplete == ()
    assert RunFolder(known["run"].folder).plan.settings["workers"] == [1, 2]
    assert known["advice"].directives in capsys.readouterr().out
