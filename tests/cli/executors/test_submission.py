"""What is submitted: the site's words, pyscale's own terms, and the script that sbatch is given."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mockruns import site
from pyscale.executors.submission import (
    Submission,
    outside_of_any_job,
    script_of,
    setup_lines,
    submissions,
)
from pyscale.measuring.holding import held_parameters
from pyscale.planning.sites import load_site
from pyscale.sbatch.held import held_trials
from pyscale.tomlfile import shipped_names


def test_a_trial_submits_its_windows_then_its_merge_then_its_check(make):
    plan = make(chunks_per_worker=3)
    reference, other = plan.trial("segment-n1-b1"), plan.trial("segment-n2-b1")
    assert list(submissions(plan, reference)) == [
        Submission(reference, "windows", 3, 1),
        Submission(reference, "merge", 1, 1),
    ]
    assert list(submissions(plan, other)) == [
        Submission(other, "windows", 6, 2),
        Submission(other, "merge", 1, 1),
        Submission(other, "check", 1, 1),
    ]


def test_what_an_order_records_is_what_was_asked_for(make):
    trial = make().trial("segment-n2-b1")
    place = site(request={"cpus": 2, "memory_gib": 1.5, "time_min": 7})
    asked = Submission(trial, "windows", 2, 2, threads=4).requested(place)
    assert (asked.cpus, asked.memory_bytes, asked.time_limit_s) == (4, 1536 << 20, 420)
    untold = Submission(trial, "windows", 2, 2).requested(site(memory=False))
    assert untold.memory_bytes is None
    # Merge and check of a GPU trial ask for no GPU.
    trial, place = make(device="cuda").trial("segment-n2-b1"), load_site("modules")
    asked = [Submission(trial, batch, 1, 1) for batch in ("windows", "merge", "check")]
    assert [each.requested(place).gpus for each in asked] == [1, 0, 0]


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
