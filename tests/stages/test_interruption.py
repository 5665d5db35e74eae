"""Stages as processes that hear Ctrl-C: they end with one sentence and leave nothing half."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest

from movingsquares import write_moving_squares

pytestmark = pytest.mark.slow

PATIENCE_S = 400.0
SLOW_DISK = """
import runpy, sys
from pyscale_stages import atomic

flush = atomic.flush_to_disk

def slowly(path):
    print("writing", flush=True)
    sys.stdin.readline()
    flush(path)

atomic.flush_to_disk = slowly
runpy.run_module("pyscale_stages", run_name="__main__", alter_sys=True)
"""
"""A stage whose disk takes a line to write a file."""
SLOW_IMPORT = """
import sys
print("importing", flush=True)
sys.stdin.readline()
"""
"""A library whose import takes a line."""
SENTENCE = "interrupted by Ctrl-C: run the same command again\n"


@pytest.fixture
def begin(tmp_path):
    """Start Python with some arguments, hearing what it says first."""

    def start(first, *line, **more):
        process = subprocess.Popen(
            [sys.executable, *(str(word) for word in line)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={**os.environ, **more},
        )
        ends.enter_context(process)
        ends.callback(process.kill)
        assert process.stdout.readline() == f"{first}\n"
        return process

    with ExitStack() as ends:
        yield start


def tracking(folder):
    """Arguments of a stage that links a few cells, and writes into `out`."""
    movie = write_moving_squares(folder / "labels.ome.tif")
    return ("track", "run", "--input", movie, "--output", folder / "out")


def test_a_stage_that_hears_ctrl_c_while_it_writes_leaves_nothing_that_looks_whole(begin, tmp_path):
    out, record = tmp_path / "out", tmp_path / "result.json"
    out.mkdir()
    for of_earlier_task in (out / "window.json", record):
        of_earlier_task.write_text("{}")
    process = begin("writing", "-c", SLOW_DISK, *tracking(tmp_path), "--result", record)
    (half,) = out.iterdir()
    assert ".partial" in half.suffixes
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, said) == (130, SENTENCE)
    assert list(out.iterdir()) == []
    assert not record.exists()


@pytest.mark.parametrize("module", ["argparse", "pydantic"])
def test_ctrl_c_during_the_imports_is_one_sentence(begin, tmp_path, module):
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / f"{module}.py").write_text(SLOW_IMPORT)
    given = ("-m", "pyscale_stages", "track", "run")
    process = begin("importing", *given, PYTHONPATH=str(tmp_path / "slow"))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, said) == (130, SENTENCE)
