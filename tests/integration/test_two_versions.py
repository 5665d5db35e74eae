"""Two environments measured in one run, killed in its middle and finished by `--resume`."""

import json
import sys

import pytest

from baseenvironment import base_environment, replace_in
from pyscale.store.taskfiles import read_task
from waitingforruns import only_run, wait_for_event

pytestmark = pytest.mark.slow

LINK = "links = laptrack_backend.link(detections, first, end, params, distances)"
SHORT = "laptrack_backend.Distances(0.5, 0.5, 0.5)"


@pytest.fixture
def base(home):
    """An environment whose tracking links cells only where they hardly move."""
    stage = base_environment(home / "env") / "pyscale_stages" / "track" / "stage.py"
    replace_in(stage, LINK, LINK.replace("distances", SHORT))
    return home / "env"


def test_both_environments_are_measured_and_compared_after_a_kill(pyscale, start, labels, base):
    process = start(
        *("run", "labels", "--data", labels, "--only", "track", "--against", base),
        *("--workers", "1,2", "--repeats", "1"),
    )
    wait_for_event("trial_finished", process)
    process.kill()
    process.communicate()
    run = only_run()
    resumed = pyscale("run", "--resume", run.path.name)
    assert resumed.code == 0, resumed.err

    plan = run.plan
    assert len(plan.trials) == 4
    for trial in plan.trials:
        order = read_task(run.task(trial, "w0")).order
        interpreter = base / "bin" / "python" if trial.entry == "track_base" else sys.executable
        assert order.argv[0] == str(interpreter)

    compared = pyscale("compare", run.path.name, "--json")
    found = json.loads(compared.out)
    assert [row["workers"] for row in found["judged"]] == [1, 2]
    assert {row["verdict"] for row in found["judged"]} == {"not enough data"}
    assert [one["what"] for one in found["differences"]] == ["code of the stages (sha256)"]
    assert found["outputs"][0]["found"] == "different"
    assert "track: the outputs of the two versions differ" in resumed.text
    status = pyscale("status", run.path.name)
    assert status.text.count("track_base") == 2

    replace_in(
        next(base.glob("lib/*/site-packages/pyscale_stages/track/stage.py")), SHORT, "params"
    )
    refused = pyscale("run", "--resume", run.path.name)
    assert refused.code == 2
    assert "has different code or packages than at the start of the run" in refused.err


def test_two_sets_of_parameters_are_measured_and_compared(pyscale, labels, home):
    file = home / "short.toml"
    file.write_text(
        "[stages.track]\nmax_distance_px = 0.5\ngap_distance_px = 0.5\n", encoding="utf-8"
    )
    arguments = ("--data", labels, "--only", "track", "--workers", "1", "--repeats", "1")
    shown = pyscale("run", "labels", *arguments, "--against", file, "--dry-run", "-v")
    assert "track_base-n1-b1" in shown.text
    assert "max_distance_px of track (0.5 -> " in shown.err
    measured = pyscale("run", "labels", *arguments, "--against", file)
    assert measured.code == 0, measured.err
    assert "track: the outputs of the two versions differ" in measured.text
