"""What is submitted: the site's words, pyscale's own terms, and the script that sbatch is given."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mockruns import site
from pyscale.errors import UserError
from pyscale.executors.submission import (
    Submission,
    outside_of_any_job,
    parameters,
    refuse_shared_gpus,
    requested,
    script,
    setup_lines,
    submissions,
)
from pyscale.plan import Trial
from pyscale.sites import Site, load_site
from pyscale.tomlfile import shipped_names


def told(place: Site, trial: Trial, batch_name: str = "windows", tasks: int = 2) -> dict[str, Any]:
    submission = Submission(trial, batch_name, tasks, at_once=tasks)
    return parameters(place, submission, threads=1, run_id="one")


def options(
    place: Site, trial: Trial, batch_name: str = "windows", tasks: int = 2
) -> dict[str, Any]:
    return dict(told(place, trial, batch_name, tasks)["additional_parameters"])


@pytest.mark.parametrize("sharing", ["time_slicing", "mps"])
def test_a_gpu_is_not_shared_where_the_site_decides_who_does(make, sharing):
    plan = make(device="cuda")
    refuse_shared_gpus(plan)
    shared = [trial.model_copy(update={"gpu_sharing": sharing}) for trial in plan.trials]
    with pytest.raises(
        UserError, match=f"gpu_sharing {sharing}: only the staff .*--executor local"
    ):
        refuse_shared_gpus(plan.model_copy(update={"trials": tuple(shared)}))


def test_a_trial_submits_its_windows_then_its_merge_then_its_check(make):
    plan = make(chunks_per_worker=3)
    reference, other = plan.trial("segment-n1-b1"), plan.trial("segment-n2-b1")
    assert list(submissions(reference)) == [
        Submission(reference, "windows", 3, 1),
        Submission(reference, "merge", 1, 1),
    ]
    assert list(submissions(other)) == [
        Submission(other, "windows", 6, 2),
        Submission(other, "merge", 1, 1),
        Submission(other, "check", 1, 1),
    ]


def test_jobs_carry_the_name_of_their_run_and_are_never_requeued(make):
    trial = make().trial("segment-n2-b1")
    given = told(site(request={"partition": "day", "exclusive": True}), trial)
    assert (given["job_name"], given["comment"]) == ("pyscale-one", "segment-n2-b1/windows")
    assert given["wckey"] is None
    asked = given["additional_parameters"]
    assert asked["no-requeue"] is True
    assert asked["exclusive"] is True
    assert asked["partition"] == "day"
    # submitit's own signal would end tasks early, or put their job back into the queue.
    assert "USR" not in asked["signal"]


def test_tasks_of_an_array_start_without_srun(make):
    given = told(site(), make().trial("segment-n2-b1"))
    assert (given["use_srun"], given["srun_args"]) == (False, None)
    assert given["array_parallelism"] == 2
    assert given["additional_parameters"]["ntasks"] == "1"


def test_a_gang_is_one_job_whose_ranks_do_not_end_each_other(make):
    trial = make(layout="gang").trial("segment-n2-b1")
    given = told(site(request={"cpus": 3, "memory_gib": 6}), trial)
    assert given["use_srun"] is True
    assert given["srun_args"] == ["--cpus-per-task=3", "--kill-on-bad-exit=0", "--wait=0"]
    asked = given["additional_parameters"]
    assert (asked["nodes"], asked["ntasks"], asked["cpus-per-task"]) == ("1-2", "2", "3")
    assert asked["mem-per-cpu"] == "2048M"
    assert "mem" not in asked
    merge = told(site(), trial, "merge", tasks=1)
    assert merge["use_srun"] is False
    assert merge["additional_parameters"]["ntasks"] == "1"


def test_the_workers_on_named_nodes_are_one_job_and_their_merge_goes_anywhere(make):
    spread = {"layout": "gang", "nodes": ("n1", "n2")}
    trial = make().trial("segment-n2-b1").model_copy(update=spread)
    asked = options(site(), trial)
    assert (asked["nodes"], asked["ntasks-per-node"], asked["nodelist"]) == ("2", "1", "n1,n2")
    assert told(site(), trial)["use_srun"] is True
    merge = options(site(), trial, "merge", tasks=1)
    assert merge["nodes"] == "1"
    assert "nodelist" not in merge


def test_merge_and_check_of_a_gpu_trial_ask_for_no_gpu(make):
    trial = make(device="cuda").trial("segment-n2-b1")
    place = load_site("modules")
    assert options(place, trial)["gres"] == "gpu:a100:1"
    assert options(place, trial)["partition"] == "gpu"
    for batch in ("merge", "check"):
        assert "gres" not in options(place, trial, batch, tasks=1)
        assert options(place, trial, batch, tasks=1)["partition"] == "cpu"
        assert requested(place, trial, 1, batch).gpus == 0
    assert requested(place, trial, 1).gpus == 1


def test_what_an_order_records_is_what_was_asked_for(make):
    trial = make().trial("segment-n2-b1")
    place = site(request={"cpus": 2, "memory_gib": 1.5, "time_min": 7})
    asked = requested(place, trial, 4)
    assert (asked.cpus, asked.memory_bytes, asked.time_limit_s) == (4, 1536 << 20, 420)
    assert requested(site(memory_option="none"), trial, 1).memory_bytes is None


def test_a_job_begins_with_the_lines_of_its_site_or_ends():
    place = site(
        setup=["export A=1"], modules=["apptainer"], scratch="/disk/$USER", binds=["/data/$A"]
    )
    native = [
        "set -eo pipefail",
        "export A=1",
        "module load apptainer",
        'export TMPDIR="/disk/$USER"',
        'mkdir -p -- "$TMPDIR"',
    ]
    assert setup_lines(place, in_image=False) == native
    assert setup_lines(place, in_image=True) == [
        *native,
        'export APPTAINER_BIND="${APPTAINER_BIND:+$APPTAINER_BIND,}/data/$A:/data/$A:ro"',
    ]
    assert setup_lines(site(), in_image=True) == []


def test_a_setup_that_fails_ends_the_job_before_anything_is_measured():
    lines = setup_lines(site(setup=["false"]), in_image=False)
    words = "\n".join([*lines, "echo on"])
    job = subprocess.run(["bash", "-c", words], capture_output=True, check=False)
    assert (job.returncode, job.stdout) == (1, b"")


@pytest.mark.parametrize("layout", ["array", "gang"])
@pytest.mark.parametrize("name", shipped_names("site"))
def test_every_script_of_a_shipped_site_passes_shellcheck(make, tmp_path, name, layout, missing):
    if shutil.which("shellcheck") is None:
        missing("shellcheck", "run scripts/provide_slurm.sh as root, or install shellcheck")
    plan = make(device="cuda", runtime="apptainer", layout=layout)
    files = []
    for submission in submissions(plan.trial("segment-n2-b1")):
        text = script(
            load_site(name), submission, threads=1, run_id="one", folder=Path("/my runs/one")
        )
        file = tmp_path / submission.batch_name
        file.write_text(text)
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
