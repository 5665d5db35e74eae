"""Commands of pyscale, run in the process of a test or as processes of their own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from typing import NamedTuple
from unittest.mock import patch

import pytest
import typer.main
from typer.testing import CliRunner

from pyscale import app
from pyscale.errors import UserError
from pyscale_stages.errors import MissingPart

_command_line = cache(typer.main.get_command)
"""Built once: each command run would otherwise build it anew."""


class Answer(NamedTuple):
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def text(self):
        return " ".join(self.out.split())


def exit_code(words):
    """Run a command line in this process; return the code with which it ends."""
    with (
        patch.object(sys, "argv", [str(word) for word in words]),
        patch("typer.main.get_command", _command_line),
        pytest.raises(SystemExit) as end,
    ):
        app.main()
    return end.value.code if isinstance(end.value.code, int) else 0


def answer_of(capsys, *words):
    capsys.readouterr()
    code = exit_code(words)
    said = capsys.readouterr()
    return Answer(code, said.out, said.err)


def answer_here(folder, *words, **variables):
    """Run a command line in a folder, in this process, with further variables."""
    out, err = io.StringIO(), io.StringIO()
    with (
        chdir(folder),
        patch.dict(os.environ, {name: str(value) for name, value in variables.items()}),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = exit_code(["pyscale", *words])
    return Answer(code, out.getvalue(), err.getvalue())


def answer_in(folder, *words, before=(), **variables):
    """Run a command line in a folder, as a process of its own with further variables."""
    ended = subprocess.run(
        [*before, sys.executable, "-m", "pyscale", *map(str, words)],
        cwd=folder,
        env=os.environ | {name: str(value) for name, value in variables.items()},
        capture_output=True,
        text=True,
        check=False,
    )
    return Answer(ended.returncode, ended.stdout, ended.stderr)


@contextmanager
def commands(**options):
    """Start commands as processes of their own, which do not outlive the block."""
    with ExitStack() as ends:

        def start(*words):
            process = subprocess.Popen(
                [sys.executable, "-m", "pyscale", *map(str, words)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
                **options,
            )
            # What it has started may hold its pipes open, so they are closed and not read.
            ends.enter_context(process)
            ends.callback(process.kill)
            return process

        yield start


def run_line(app, *words, code=0):
    """Run a line of a Typer app; errors that it explains are raised."""
    result = CliRunner().invoke(app, words)
    if isinstance(result.exception, (UserError, MissingPart)):
        raise result.exception
    assert result.exit_code == code, result.output
    return result
