import io

import pytest

from datamirror import dataset_of, row
from pyscale.data.progress import asked
from pyscale.errors import UserError


class Terminal(io.StringIO):
    """Standard input of a person who types."""

    def isatty(self):
        return True


CELLS = dataset_of([row("a.tif", b"a")], consent=True, terms="Name the cells.")


def test_a_person_is_shown_the_terms_and_accepts_or_declines(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    asked("cells", CELLS)
    printed = capsys.readouterr()
    assert "Name the cells. See http://127.0.0.1:9/licence" in printed.err
    assert "Name the cells." not in printed.out
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    with pytest.raises(UserError, match="its terms were not accepted"):
        asked("cells", CELLS)
