"""Renews config/validation from a run, after a change that was meant to change results.

Run as `.venv/bin/python scripts/renew_validation.py RUN`. RUN is a folder of a complete run of a
suite with expected results, whose trials all left the same bytes. Values and checksums are taken
from it; tolerances, and what they come from, are written by people: look at both in `git diff`.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from pyscale.errors import UserError
from pyscale.store.folder import RunFolder
from pyscale.validation.expected import expected_file, read_expected
from pyscale.validation.renewing import as_toml, renewed
from pyscale_stages.atomic import write_atomically


def main(folder: Path) -> None:
    """Rewrite the file of expected results that the run's suite names.

    Raises
    ------
    UserError
        If the run cannot be what is expected.
    """
    run = RunFolder(folder)
    name = run.plan.suite.expected
    if name is None:
        raise UserError(f"the suite of {folder} names no expected results")
    path = expected_file(name)
    text = path.read_text(encoding="utf-8")
    head = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    write_atomically(path, as_toml(renewed(read_expected(path), run), "\n".join(head)))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except UserError as error:
        sys.exit(f"error: {error}")
