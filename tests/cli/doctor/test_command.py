"""`pyscale doctor` as a shell and a script see it."""

import re
from functools import partial

import numpy as np
import pytest

from commandline import answer_of
from pyscale.doctor.command import Diagnosis
from pyscale.findings import refused
from pyscale_stages.moviewriter import write_movie
from refusals import assert_refused


@pytest.fixture
def doctor(tmp_path, monkeypatch, capsys):
    """Run the command on a small movie of labels, in a folder of its own."""
    write_movie(tmp_path / "labels.ome.tif", np.ones((4, 8, 8), np.uint16), "TYX")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSCALE_DATA", "labels.ome.tif")
    monkeypatch.setenv("PYSCALE_WORKERS", "1")
    return partial(answer_of, capsys, "pyscale", "doctor", "--suite", "labels")


@pytest.mark.slow
def test_json_is_the_findings_and_nothing_else_with_one_answer_to_each_check(doctor):
    answer = doctor("--json")
    found = Diagnosis.model_validate_json(answer.out)
    assert answer.code == int(found.has_problem)
    checks = [(one.code, one.where) for one in found.findings]
    assert ("stage.works", "track") in checks
    assert {"cpu.workers", "disk.folder", "data.found"} <= {code for code, _ in checks}
    assert len(checks) == len(set(checks))
    assert all(one.do for one in found.findings if one.status != "ok")


@pytest.mark.slow
def test_a_problem_is_exit_code_one_and_stands_in_the_last_line(doctor, tmp_path, monkeypatch):
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path / "none"))
    monkeypatch.setenv("PYSCALE_STAGES", '{"contact": {"backend": "opencl"}}')
    answer = doctor()
    assert answer.code == 1
    assert "✗ problem" in answer.out
    assert re.match(r"Verdict: [1-9]\d* problem", answer.out.strip().splitlines()[-1])
    assert "\x1b" not in answer.out + answer.err


@pytest.mark.parametrize("arguments", [("--suite", "pipelin"), ("--device", "gpu")], ids=str)
def test_a_mistake_is_one_sentence(doctor, arguments):
    assert_refused(doctor(*arguments))


@pytest.mark.parametrize(
    ("error", "what", "do"),
    [
        ("no GPU is visible: use --device cpu", "no GPU is visible", "use --device cpu"),
        ("it cannot be asked (sinfo: error: no such file)",) * 2 + ("",),
        (
            "the daemon said 'fatal: gone', and ended: start it again (see `help: start`)",
            "the daemon said 'fatal: gone', and ended",
            "start it again (see `help: start`)",
        ),
        ("it failed (a (b: c) d: e): take another", "it failed (a (b: c) d: e)", "take another"),
    ],
)
def test_an_error_is_parted_at_no_colon_of_what_it_quotes(error, what, do):
    found = refused("stage.works", "track", error)
    assert (found.status, found.where, found.what, found.do) == ("problem", "track", what, do)
    assert str(found) == f"track: {error}"
