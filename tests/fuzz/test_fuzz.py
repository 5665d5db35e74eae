"""The fuzzer works, and finds nothing in a few inputs of each target; `make fuzz` reads on."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fuzz import fuzzing
from fuzz.fuzzing import Hangs, failure_of
from fuzz.targets import TARGETS, Target
from pyscale.errors import UserError
from pyscale_stages.errors import BadInput

CASES = 8
"""Of each target."""


@pytest.mark.slow
def test_damaged_inputs_are_read_or_refused_in_a_sentence(tmp_path):
    """In a process of its own, which what does not even hear a signal may end."""
    said = subprocess.run(
        [sys.executable, "-m", "fuzz.fuzzing", "--seed", "1", "--cases", str(CASES)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert all(f"'{name}': {CASES}" in said.stderr for name in TARGETS), said.stderr


def reads(outcome):
    def read(path):
        if outcome is not None:
            raise outcome

    return Target(lambda folder: None, (), read)


@pytest.mark.parametrize("outcome", [None, UserError("sentence"), BadInput("sentence")])
def test_a_sentence_is_no_failure(outcome):
    assert failure_of(reads(outcome), Path()) is None


@pytest.mark.parametrize("outcome", [ZeroDivisionError(), SystemExit(1), RecursionError()])
def test_anything_else_is_one(outcome):
    assert failure_of(reads(outcome), Path()) is outcome


def test_what_hangs_is_one(monkeypatch):
    monkeypatch.setattr(fuzzing, "LONGEST_S", 0.05)
    target = Target(lambda folder: None, (), lambda path: time.sleep(60))
    assert isinstance(failure_of(target, Path()), Hangs)
