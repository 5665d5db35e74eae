import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mockruns import site
from pyscale.executors.submission import (
    outside_of_any_job,
    script_of,
    setup_lines,
    steps_asked,
)
from pyscale.measuring.holding import held_parameters
from pyscale.planning.sites import load_site
from pyscale.sbatch.held import held_trials
from pyscale.tomlfile import shipped_names


def test_the_steps_of_a_trial_ask_for_its_windows_then_its_merge_then_its_check(make):
    plan = make(chunks_per_worker=3)
    asked = {
        name: [(s.name, s.tasks, s.at_once) for s in steps_asked(plan, plan.trial(name), site())]
        for name in ("segment-n1-b1", "segment-n2-b1")
    }
    assert asked["segment-n1-b1"] == [("windows", 3, 1), ("merge", 1, 1)]
    assert asked["segment-n2-b1"] == [("windows", 6, 2), ("merge", 1, 1), ("check", 1, 1)]
    # Merge and check of a GPU trial ask for no GPU.
    plan = make(device="cuda")
    steps = steps_asked(plan, plan.trial("segment-n2-b1"), load_site("modules"))
    assert [step.wanted.gpus for step in steps] == [1, 0, 0]


def test_a_job_begins_with_the_lines_of_its_site_or_ends():
    place = site(
        setup=["export A=1"], modules=["apptainer"], scratch="/disk/$USER", binds=["/data/$A"]
    )
    native = ["set -eo pipefail", "export A=1", "module load apptainer"]
    native += ['export TMPDIR="/disk/$USER"', 'mkdir -p -- "$TMPDIR"']
    assert setup_lines(place, in_image=False) == native
    assert setup_lines(place, in_image=True) == [
        *native,
        'export APPTAINER_BIND="${APPTAINER_BIND:+$APPTAINER_BIND,}/data/$A:/data/$A:ro"',
    ]
    assert setup_lines(site(), in_image=True) == []
    # One whose setup fails ends before anything is measured.
    lines = setup_lines(site(setup=["false"]), in_image=False)
    words = "\n".join([*lines, "echo on"])
    job = subprocess.run(["bash", "-c", words], capture_output=True, check=False)
    assert (job.returncode, job.stdout) == (1, b"")


@pytest.mark.parametrize("name", shipped_names("site"))
def test_every_script_of_a_shipped_site_passes_shellcheck(make, tmp_path, name, missing):
    if shutil.which("shellcheck") is None:
        missing("shellcheck", "run scripts/provide_slurm.sh as root, or install shellcheck")
    plan, place = make(device="cuda", runtime="apptainer"), load_site(name)
    files = []
    for number, one in enumerate(held_trials(plan, place)):
        file = tmp_path / f"{number}.sbatch"
        told = held_parameters(plan, place, one, 60)
        file.write_text(script_of(told, Path("/my runs/one")))
        files.append(file)
    check = subprocess.run(["shellcheck", *files], capture_output=True, text=True, check=False)
    assert check.stdout == ""
    assert check.returncode == 0


def test_variables_of_a_job_around_pyscale_are_hidden_while_it_submits(monkeypatch):
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "1000")
    monkeypatch.setenv("SLURM_CONF", "/etc/ours.conf")
    with outside_of_any_job():
        assert "SLURM_MEM_PER_NODE" not in os.environ
        assert os.environ["SLURM_CONF"] == "/etc/ours.conf"
    assert os.environ["SLURM_MEM_PER_NODE"] == "1000"
