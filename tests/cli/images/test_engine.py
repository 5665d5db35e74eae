"""The container program is known by its answer."""

import os
from functools import partial

import pytest

from programs import put_program
from pyscale.images.engine import Engine, find_engine
from pyscale_stages.errors import MissingPart
from refusals import refused


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put a program that answers so alone on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return partial(put_program, tmp_path)


@pytest.mark.parametrize("version", ["1.4.5", "1.3.0-rc.2+12-gab"])
def test_the_engine_is_known_by_its_answer(program, version):
    path = program("apptainer", f"echo apptainer version {version}")
    found = find_engine()
    assert (found.program, found.named) == (str(path), f"apptainer {version}")


def test_root_needs_no_host_privileges(monkeypatch):
    engine = Engine("/bin/apptainer", "1.4.5")
    # Others get what the site gives.
    for user, options in ((0, ["--userns"]), (1000, [])):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        command = engine.command("exec", "x.sif", "true")
        assert command == ["/bin/apptainer", "exec", *options, "x.sif", "true"]


@pytest.mark.parametrize("body", [None, "exit 1", "echo singularity-ce version 4.3.1", ":"])
def test_a_program_that_is_absent_or_no_engine_is_one_sentence(program, body):
    if body is not None:
        program("apptainer", body)
    with refused(MissingPart):
        find_engine()
