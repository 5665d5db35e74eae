"""`pyscale doctor` as a shell and a script see it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from commandline import answer_of
from pyscale.doctor.command import Diagnosis
from pyscale_stages.moviewriter import write_movie

Doctor = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def doctor(tmp_path: Path) -> Doctor:
    """Run the command on a small movie of labels, in a folder of its own."""
    movie = tmp_path / "labels.ome.tif"
    write_movie(movie, np.ones((4, 8, 8), np.uint16), "TYX")

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pyscale", "doctor", "--suite", "labels", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYSCALE_DATA": str(movie), "PYSCALE_WORKERS": "1", **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.slow
def test_json_is_the_findings_and_nothing_else_with_one_answer_to_each_check(doctor):
    answer = doctor("--json")
    found = Diagnosis.model_validate_json(answer.stdout)
    assert answer.returncode == int(found.has_problem)
    checks = [one.check for one in found.findings]
    assert {"stage.track.works", "cpu.usable", "disk.runs", "data.movie"} <= set(checks)
    assert len(checks) == len(set(checks))
    assert all(one.remedy for one in found.findings if one.status in {"warning", "problem"})


@pytest.mark.slow
def test_a_problem_is_exit_code_one_and_stands_in_the_last_line(doctor, tmp_path):
    by_opencl = '{"contact": {"backend": "opencl"}}'
    answer = doctor(OCL_ICD_VENDORS=str(tmp_path / "none"), PYSCALE_STAGES=by_opencl)
    assert answer.returncode == 1
    assert "✗ problem" in answer.stdout
    assert re.match(r"Verdict: [1-9]\d* problem", answer.stdout.strip().splitlines()[-1])
    assert "\x1b" not in answer.stdout + answer.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--suite", "pipelin"), "did you mean 'pipeline'?"),
        (("--device", "gpu"), "'device'"),
        (("--partition", "x"), "partition"),
    ],
)
def test_a_mistake_is_one_sentence(capsys, arguments, said):
    answer = answer_of(capsys, "pyscale", "doctor", "--suite", "labels", *arguments)
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert said in answer.err
