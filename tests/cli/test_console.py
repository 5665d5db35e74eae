"""Answers are as wide as whoever reads them says, and no name in them steers a terminal."""

import unicodedata

import pytest
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from pyscale.console import PIPED_WIDTH, answer, talk


@pytest.mark.parametrize(("columns", "width"), [(None, PIPED_WIDTH), ("70", 70), ("", PIPED_WIDTH)])
def test_a_pipe_has_the_width_that_columns_gives_it(capsys, monkeypatch, columns, width):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    answer(Rule())
    assert len(capsys.readouterr().out.rstrip("\n")) == width


HOSTILE = "a\x1b[31mred\x1b]0;title\x07\rb\x9b2J"


def test_a_name_with_control_characters_is_printed_without_them(capsys):
    table = Table(HOSTILE, title=HOSTILE)
    table.add_row(HOSTILE)
    table.add_row(Text(HOSTILE))
    answer(table)
    answer(HOSTILE)
    talk(HOSTILE)
    said = "".join(capsys.readouterr())
    assert said.count("]0;title") == 6
    assert {letter for letter in said if unicodedata.category(letter) == "Cc"} == {"\n"}
