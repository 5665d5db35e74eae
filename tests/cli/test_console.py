"""Answers are as wide as whoever reads them says."""

from __future__ import annotations

import pytest
from rich.rule import Rule

from pyscale.console import PIPED_WIDTH, answer


@pytest.mark.parametrize(("columns", "width"), [(None, PIPED_WIDTH), ("70", 70), ("", PIPED_WIDTH)])
def test_a_pipe_has_the_width_that_columns_gives_it(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    columns: str | None,
    width: int,
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    answer(Rule())
    assert len(capsys.readouterr().out.rstrip("\n")) == width
