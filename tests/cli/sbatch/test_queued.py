"""The job of a site's own scheduler: its script, and what its file may say."""

from pathlib import Path

import pytest

from mockruns import PIPELINE, plan_of, small_movie
from pyscale.errors import UserError
from pyscale.planning.sites import Site, load_site
from pyscale.sbatch.held import is_alive, script_of_job, submit_job
from refusals import refused

COMMANDS = {"submit": "echo", "alive": "test {job} = 17", "cancel": "true {job}"}


def site(*directives, setup=(), **commands):
    scheduler = {"directives": directives, **COMMANDS, **commands}
    return Site.model_validate(
        {"name": "mine", "summary": "a cluster", "setup": setup, "scheduler": scheduler}
    )


def script(tmp_path, on_site, **settings):
    plan = plan_of(PIPELINE, small_movie(tmp_path), tmp_path, (1, 4), on_site=on_site, **settings)
    assert plan.site is None
    return script_of_job(plan, on_site, Path("/runs/r"), Path("/runs/r/log"))


def test_its_head_asks_for_what_the_largest_trial_needs(tmp_path):
    directives = ("#X {cores} {time} {time_min}", "#X {memory_mib} {memory_mib_per_core}")
    text = script(tmp_path, site(*directives), cpus_per_worker=2)
    first, asks, memory, command = text.splitlines()
    assert (first, asks) == ("#!/usr/bin/env bash", "#X 8 12:00:00 720")
    whole, of_core = map(int, memory.split()[1:])
    assert whole == 8 * of_core > 8 * 1024
    assert command.endswith("-m pyscale work /runs/r >/runs/r/log 2>&1")


def test_a_line_on_gpus_is_there_where_tasks_compute_on_one(tmp_path):
    on_site = site("#X gpus={gpus}")
    assert "#X" not in script(tmp_path, on_site)
    assert "#X gpus=4" in script(tmp_path, on_site, device="cuda").splitlines()


def test_what_the_site_needs_comes_before_the_work(tmp_path):
    text = script(tmp_path, site(setup=("export A=1",)))
    assert text.index("export A=1") < text.index("pyscale work")


def test_the_id_is_found_in_what_the_command_says(tmp_path):
    assert submit_job(site(job_id=r"(17)"), tmp_path / "17.sh") == "17"
    with pytest.raises(UserError, match=r"correct job_id in \[scheduler\] of the site mine"):
        submit_job(site(job_id=r"job ([0-9]+)"), tmp_path / "17.sh")
    assert is_alive(site(), "17")
    assert not is_alive(site(), "18")


@pytest.mark.parametrize(
    "wrong",
    [
        {"directives": ["#X {nodes}"]},
        {"directives": ["#X {cores"]},
        {"alive": "qstat {id}"},
        {"job_id": "[0-9]+"},
        {"job_id": "([0-9]+"},
    ],
    ids=str,
)
def test_a_file_that_cannot_be_followed_is_refused(tmp_path, wrong):
    scheduler = {"directives": ["#X {cores}"], **COMMANDS, **wrong}
    lines = [f"{name} = {value!r}" for name, value in scheduler.items()]
    file = tmp_path / "mine.toml"
    file.write_text("\n".join(['name = "mine"', 'summary = "a cluster"', "[scheduler]", *lines]))
    with refused(UserError):
        load_site(str(file))


@pytest.mark.parametrize("name", ["gridengine", "pbs", "lsf", "flux"])
def test_a_shipped_site_gives_a_script(tmp_path, name):
    text = script(tmp_path, load_site(name))
    assert "{" not in text
