"""What Slurm answers is understood, whatever a site's Slurm is like, and why it would refuse jobs.

The programs are stand-ins that answer as Slurm 22.05 does; `tests/slurm` asks a real one.
"""

import os
from pathlib import Path

import pytest

from mockruns import site
from pyscale.doctor.jobrequest import job_requests, plan_requests
from pyscale.doctor.nodes import Probes, script
from pyscale.doctor.preflight import preflight
from pyscale.doctor.slurm import refusals, slurm
from pyscale.errors import UserError
from pyscale.planning.sites import Site, load_site
from pyscale.slurm.commands import nodes_of, on_login_node, partitions
from refusals import refused

SINFO = """
case "$*" in
  *version*) echo "slurm 22.05.8" ;;
  *%N*) printf 'n10|idle|none\\nn2|down*|no power\\nn2|down*|no power\\n' ;;
  *%R*) printf 'day\\nnight\\n' ;;
  *%P*) printf 'day\\nnight*\\n' ;;
  *%l*) echo 2:00:00 ;;
  *%G*) printf '(null)\\n' ;;
esac
"""
VERSION = 'echo "slurm 22.05.8"'
CONFIG = "printf 'MaxArraySize            = 3\\nAccountingStorageType   = {kind}\\n'"
NO_CONTROLLER = f'case "$*" in *version*) {VERSION} ;; *) echo "refused" >&2; exit 1 ;; esac'
TAKES_NOTHING = """
case "$*" in --version) ;; *) echo "allocation failure: no" >&2; exit 1 ;; esac
"""
REFUSES_MEMORY = """
for word in "$@"; do
  case $word in --mem*) echo "sbatch: error: Memory is not to be specified" >&2; exit 1 ;; esac
done
"""


@pytest.fixture
def cluster(put_on_path):
    """Put stand-ins on PATH; those of a cluster that takes all jobs are there."""
    config = CONFIG.format(kind="accounting_storage/slurmdbd")
    put_on_path(sinfo=SINFO, sbatch=VERSION, squeue=VERSION, scancel=VERSION, scontrol=config)
    put_on_path(sacct="exit 0", sacctmgr="exit 1")
    return put_on_path


def by_check(requests):
    return {finding.check: finding for finding in slurm(requests)}


def test_a_machine_without_slurm_needs_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = slurm([])
    assert found.status == "not applicable"
    with refused(UserError):
        nodes_of("day")


def test_nodes_come_once_each_in_the_order_of_their_numbers_and_jobs_go_to_the_default(
    cluster, subject
):
    assert [node.name for node in nodes_of("day")] == ["n2", "n10"]
    assert on_login_node() == ("SLURM_JOB_ID" not in os.environ)
    (request,) = job_requests(subject(), load_site("plain"), None)
    assert request.partition == "night"


def test_what_a_user_has_set_for_calls_by_hand_changes_no_answer(
    cluster, subject, tmp_path, monkeypatch
):
    (request,) = job_requests(subject(), load_site("plain"), "day")
    for name in ("SINFO_PARTITION", "SQUEUE_STATES", "SCANCEL_STATE"):
        monkeypatch.setenv(name, "RUNNING")
    cancelled = tmp_path / "cancelled"
    cluster(
        sinfo=f'[ "$SINFO_PARTITION" ] || {SINFO.strip()}',
        squeue='[ "$SQUEUE_STATES" ] || echo "7|PENDING, Resources"',
        scancel=f'[ "$SCANCEL_STATE" ] || echo "$*" > {cancelled}',
    )
    assert partitions() == ["day", "night"]
    probes = Probes(tmp_path, request)
    probes.waiting["n1"] = "7"
    probes.lose_waiting(60.0)
    assert "(job: pending, resources)" in probes.silent[0].sentence
    assert cancelled.read_text() == "7\n"


def test_a_controller_that_is_down_is_a_problem_only_where_jobs_are_wanted(cluster, subject):
    requests = job_requests(subject(), load_site("plain"), "day")
    cluster(sinfo=NO_CONTROLLER)
    assert by_check([])["slurm.controller"].status == "not applicable"
    found = by_check(requests)
    assert found["slurm.controller"].status == "problem"
    assert "refused" in found["slurm.controller"].sentence
    assert "slurm.partition.day" not in found


def test_a_site_that_refuses_memory_is_told_apart_from_other_refusals(cluster, subject):
    requests = job_requests(subject(), load_site("plain"), "day")
    cluster(sbatch=REFUSES_MEMORY)
    refused = by_check(requests)["slurm.submission.contact"]
    assert "for its memory (Memory is not to be specified)" in refused.sentence
    assert "memory_option" in refused.remedy
    cluster(
        sbatch=f'case "$*" in --version) {VERSION} ;; *) echo "bad account" >&2; exit 1 ;; esac'
    )
    other = by_check(requests)["slurm.submission.contact"]
    assert other.sentence.endswith("(bad account)")


def test_an_account_is_looked_up_where_slurm_keeps_accounts(cluster, subject):
    requests = job_requests(subject(), load_site("per_cpu"), "day")
    assert "slurm.account" not in by_check(requests)
    cluster(sacctmgr="printf 'genomics\\nimaging\\n'")
    found = by_check(requests)["slurm.account"]
    assert found.status == "problem"
    assert found.sentence.endswith("genomics, imaging")


def test_stages_that_ask_for_the_same_share_a_request(cluster, subject):
    cpu, gpu = job_requests(subject("pipeline", device="cuda"), load_site("modules"), None)
    assert [entry.name for entry in cpu.entries] == ["register_denoise", "track"]
    assert [entry.name for entry in gpu.entries] == ["segment", "contact"]
    assert (cpu.partition, gpu.partition) == ("cpu", "gpu")
    assert "--gres=gpu:a100:1" in gpu.directives()


def test_a_probe_begins_with_the_lines_of_its_site():
    site = Site(
        name="mine",
        summary="a test",
        setup=("export A=1",),
        modules=("apptainer",),
        scratch="$TMPDIR",
        binds=("/data sets/$A",),
    )
    lines = script(Path("/runs of mine/request.json"), site).splitlines()
    assert lines[:3] == ["#!/bin/bash", "export A=1", "module load apptainer"]
    assert lines[3].endswith('\'/runs of mine/request.json\' "$TMPDIR" "/data sets/$A"')


def found(plan, place=None):
    return list(refusals(plan, place or load_site("plain")))


def first(plan, place=None):
    finding = found(plan, place)[0]
    assert finding.status == "problem"
    return f"{finding.sentence}: {finding.remedy}"


def test_each_different_job_is_asked_about_once_at_its_largest(cluster, make):
    plan = make(only=("contact",), workers=(1, 2, 4), repeats=3)
    asked = [
        ([entry.name for entry in request.entries], request.options.get("array"))
        for request in plan_requests(plan, site())
    ]
    # What feeds the measured stage runs at N = 1 alone.
    assert asked == [(["register_denoise", "segment"], None), (["contact"], "0-3%4")]


def test_the_gpu_jobs_and_the_gangs_of_a_plan_are_asked_about_and_so_are_their_merges(
    cluster, make
):
    plan = make(only=("segment",), device="cuda", layout="gang")
    requests = plan_requests(plan, load_site("modules"))
    of_segment = [
        (request.partition, request.options["ntasks"])
        for request in requests
        if "segment" in {entry.name for entry in request.entries}
    ]
    assert of_segment == [("gpu", "2"), ("cpu", "1")]


def test_where_slurm_is_not_or_does_not_answer_the_run_is_refused(
    cluster, make, tmp_path, monkeypatch
):
    cluster(sinfo=NO_CONTROLLER)
    (finding,) = found(make())
    assert finding.sentence == "Slurm's controller does not answer (refused)"
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert first(make()).startswith("Slurm's commands are not on PATH")


def test_time_that_the_partition_and_the_qos_allow_is_not_refused(cluster, make):
    plan = make(only=("contact",))
    assert found(plan, site(request={"time_min": 120})) == []
    assert "partition night allows 2:00:00" in first(plan, site(request={"time_min": 121}))
    cluster(sacctmgr="echo '1-00:00:00|PartitionTimeLimit'")
    assert found(plan, site(request={"time_min": 240, "qos": "long"})) == []


REFUSES_TIME = """
for word in "$@"; do
  case $word in --time*)
    echo "sbatch: error: Time limit exceeds that of the association" >&2
    exit 1 ;;
  esac
done
"""


@pytest.mark.parametrize(
    ("allocation", "setting"), [("hold", "hold_limit_hours"), ("each", "time_min")]
)
def test_a_time_that_slurm_refuses_is_told_with_the_setting_that_lowers_it(
    cluster, make, allocation, setting
):
    cluster(sbatch=REFUSES_TIME)
    refused = first(make(only=("contact",), allocation=allocation, on_site=site()))
    assert "for its time (Time limit exceeds that of the association)" in refused
    assert f": lower {setting} in the site's file" in refused


@pytest.mark.parametrize(
    ("told", "options", "statuses"),
    [
        ("2:16:1", (), []),
        ("2:16:2", (), ["ok"]),
        ("1:8:1\\n1:4+:4+", (), ["ok"]),
        ("2:16:2", ("--hint=nomultithread",), ["ok"]),
        ("2:16:2", ("--hint=multithread",), ["warning"]),
        ("2:16:2", ("--ntasks-per-core=2",), ["warning"]),
    ],
)
def test_threads_of_a_core_are_told_with_what_jobs_ask_for(cluster, make, told, options, statuses):
    cluster(sinfo=SINFO.replace("*%l*", f"*%z*) printf '{told}\\n' ;;\n  *%l*"))
    plan, place = make(on_site=site()), site(options=options)
    requests = plan_requests(plan, place)
    seen = [one for one in slurm(requests) if one.check == "slurm.threads.night"]
    assert [one.status for one in seen] == statuses
    # Before a run a warning is given, and nothing where all is well.
    warned = [one.status for one in found(plan, place) if one.check == "slurm.threads.night"]
    assert warned == [status for status in statuses if status == "warning"]


@pytest.mark.parametrize("kind", ["accounting_storage/none", "(null)"])
def test_an_account_where_slurm_keeps_none_is_refused(cluster, make, kind):
    place = site(request={"account": "lab"})
    assert found(make(), place) == []
    cluster(scontrol=CONFIG.format(kind=kind))
    assert "account lab, but this Slurm keeps no accounts: leave" in first(make(), place)


def test_gpus_in_a_partition_without_are_refused(cluster, make):
    plan = make(device="cuda")
    assert first(plan).startswith("no node of night has a GPU (gres)")
    # A site may tell its GPU nodes apart by something else.
    assert found(plan, site(request={"gpus": 0})) == []


def test_nodes_that_are_away_for_now_are_a_warning_while_slurm_takes_the_job(cluster, make):
    cluster(sinfo=SINFO.replace("n10|idle|none", "n10|idle~|none"))
    assert {finding.status for finding in found(make())} == {"warning"}
    # What holds for several jobs is said once.
    several = site(override=[{"stage": "segment", "cpus": 2}])
    plan = make(device="cpu").model_copy(update={"site": several})
    assert len([one for one in preflight(plan) if one.check == "slurm.partition.night"]) == 1
    cluster(sbatch=TAKES_NOTHING)
    assert first(make()).startswith("0 of 2 nodes of night take jobs")


def test_a_plan_for_a_cluster_looks_for_libraries_and_not_at_this_machines_parts(
    cluster, make, tmp_path, monkeypatch
):
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    plan = make(device="cuda").model_copy(update={"site": site(request={"gpus": 0})})
    assert [one for one in preflight(plan) if one.status == "problem"] == []
    monkeypatch.setenv("CELLPOSE_LOCAL_MODELS_PATH", str(tmp_path))
    monkeypatch.setenv("SBATCH_QOS", "x")
    weights = make(stages={"segment": {"model": "cyto3"}}).model_copy(update={"site": site()})
    problems = [one.check for one in preflight(weights) if one.status == "problem"]
    assert problems == ["stage.segment.works", "slurm.environment"]


def test_a_run_that_began_before_is_not_judged_again(cluster, make):
    cluster(sbatch=TAKES_NOTHING)
    plan = make().model_copy(update={"site": site()})
    assert [one for one in preflight(plan) if one.status == "problem"]
    assert [one for one in preflight(plan, asks_slurm=False) if one.status == "problem"] == []
