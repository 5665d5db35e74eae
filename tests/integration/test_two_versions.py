"""Two environments measured in one run, killed in its middle and finished by `--resume`."""

import json
import sys

import pytest

from baseenvironment import base_environment, replace_in
from pyscale.store.taskfiles import read_task
from waitingforruns import only_run, wait_for_event

pytestmark = pytest.mark.slow

EVERY_FRAME = "if any(len(of_type.labels) for of_type in types)"
SECOND = "if frame % 2 and any("


@pytest.fixture
def base(home):
    """An environment which looks for contacts in every second frame only."""
    stage = base_environment(home / "env") / "pyscale_stages" / "contact" / "stage.py"
    replace_in(stage, EVERY_FRAME, EVERY_FRAME.replace("if any(", SECOND))
    return home / "env"


def test_both_environments_are_measured_and_compared_after_a_kill(pyscale, start, labels, base):
    process = start(
        *("run", "labels", "--data", labels, "--only", "contact", "--against", base),
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
        interpreter = base / "bin" / "python" if trial.entry == "contact_base" else sys.executable
        assert order.argv[0] == str(interpreter)

    compared = pyscale("compare", run.path.name, "--json")
    found = json.loads(compared.out)
    assert [row["workers"] for row in found["judged"]] == [1, 2]
    assert {row["verdict"] for row in found["judged"]} == {"not enough data"}
    assert [one["what"] for one in found["differences"]] == ["code of the stages (sha256)"]
    assert found["outputs"][0]["found"] == "different"
    assert "contact: the outputs of the two versions differ" in resumed.text
    status = pyscale("status", run.path.name)
    assert status.text.count("contact_base") == 2

    (stage,) = base.glob("lib/*/site-packages/pyscale_stages/contact/stage.py")
    replace_in(stage, SECOND, "if any(")
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
