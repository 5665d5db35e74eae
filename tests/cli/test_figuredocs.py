"""What docs/figures.md shows does work, and nothing is left out of it."""

import re
from pathlib import Path

import pytest

from mockexecutor import MockEnd, MockExecutor
from mockruns import carried_out
from pyscale.report.figures import FIGURES

PAGE = (Path(__file__).parents[2] / "docs" / "figures.md").read_text()


@pytest.mark.slow
def test_the_code_of_the_page_draws_the_latest_run(make, tmp_path, monkeypatch):
    executor = MockExecutor(lambda _trial, _task, _spec: MockEnd(wall_s=1.0))
    carried_out(make(only=("register_denoise",)), tmp_path, executor)
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(code, {})
    assert {path.name for path in (tmp_path / "for-the-paper").iterdir()} == {
        f"{name}.{ending}" for name in ("speedup", "losses") for ending in ("png", "svg", "pdf")
    }


def test_the_page_names_every_figure():
    told = re.findall(r"^\| `(\w+)` \| `(\w+)\(", PAGE, re.MULTILINE)
    assert told == [(file, draw.__name__) for file, draw in FIGURES.items()]
