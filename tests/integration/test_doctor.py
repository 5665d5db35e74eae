"""`pyscale doctor`, for real: what it finds here of a stage, and that its exit code says so."""

import json

import pytest

from commandline import answer_in

SUITE = """
name = "one"
summary = "Contacts alone"
data = "labels"

[stages.contact]
inputs = { labels = "movie" }
"""


@pytest.mark.smoke
def test_the_doctor_has_a_stage_work_and_says_what_a_run_would_lack(home):
    (home / "one.toml").write_text(SUITE)
    asked = ("doctor", "--suite", "one.toml", "--json")
    told = answer_in(home, *asked)
    assert told.code == 0, told.err
    found = {one["code"]: one["status"] for one in json.loads(told.out)["findings"]}
    assert found["stage.works"] == "ok"
    assert found["cpu.workers"] == "ok"
    lacking = answer_in(home, *asked, PYSCALE_RUNTIME="apptainer", PATH="/usr/nowhere")
    assert lacking.code == 1
    assert "Traceback" not in lacking.err
    failed = [one for one in json.loads(lacking.out)["findings"] if one["status"] == "problem"]
    assert failed
    assert all(one["do"] for one in failed)
