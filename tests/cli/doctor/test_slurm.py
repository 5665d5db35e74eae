"""What Slurm answers is understood, whatever a site's Slurm is like, and why it would refuse jobs.

The programs are stand-ins that answer as Slurm 22.05 does; `tests/slurm` asks a real one.
"""

import os

import pytest

from mockruns import site
from pyscale.doctor.jobrequest import plan_requests
from pyscale.doctor.preflight import preflight
from pyscale.doctor.slurm import refusals, slurm
from pyscale.errors import UserError
from pyscale.planning.sites import load_site
from pyscale.slurm.commands import nodes_of, on_login_node, partitions
from refusals import refused

SINFO = """
case "$*" in
  *version*) echo "slurm 22.05.8" ;;
  *%N*) printf 'n10 idle\\nn2 down*\\nn2 down*\\n' ;;
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
REFUSES = """
for word in "$@"; do
  case $word in {option}*) echo "sbatch: error: {why}" >&2; exit 1 ;; esac
done
"""


@pytest.fixture
def cluster(put_on_path):
    """Put stand-ins on PATH; those of a cluster that takes all jobs are there."""
    config = CONFIG.format(kind="accounting_storage/slurmdbd")
    put_on_path(sinfo=SINFO, sbatch=VERSION, squeue=VERSION, scancel=VERSION, scontrol=config)
    put_on_path(sacct="exit 0", sacctmgr="exit 1")
    return put_on_path


def test_a_machine_without_slurm_needs_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = slurm()
    assert found.status == "not applicable"
    with refused(UserError):
        nodes_of("day")


def test_what_a_user_has_set_for_calls_by_hand_changes_no_answer(cluster, monkeypatch):
    monkeypatch.setenv("SINFO_PARTITION", "day")
    cluster(sinfo=f'[ "$SINFO_PARTITION" ] || {SINFO.strip()}')
    assert partitions() == ["day", "night"]


def test_nodes_come_once_each_with_their_states_and_jobs_go_to_the_default(cluster, make):
    assert nodes_of("day") == {"n10": "idle", "n2": "down*"}
    assert on_login_node() == ("SLURM_JOB_ID" not in os.environ)
    (request, *_) = plan_requests(make(), load_site("plain"))
    assert request.partition == "night"


def test_a_controller_that_is_down_is_beside_the_point_of_a_run_here(cluster):
    assert [found.status for found in slurm()] == ["ok"] * 3
    cluster(sinfo=NO_CONTROLLER)
    _, controller = slurm()
    assert (controller.check, controller.status) == ("slurm.controller", "not applicable")


def found(plan, place=None):
    return list(refusals(plan, place or load_site("plain")))


def first(plan, place=None):
    finding = found(plan, place)[0]
    assert finding.status == "problem"
    return f"{finding.sentence}: {finding.remedy}"


@pytest.mark.parametrize(
    ("option", "of", "remedy"),
    [
        ("--mem", "memory", "memory_option"),
        ("--time", "time", ": lower hold_limit_hours in the site's file"),
        ("--test-only", None, "(no): "),
    ],
)
def test_what_slurm_refuses_is_told_with_the_setting_that_lowers_it(
    cluster, make, option, of, remedy
):
    cluster(sbatch=REFUSES.format(option=option, why="no"))
    refused = first(make(only=("contact",), on_site=site()))
    assert of is None or f"for its {of} (no)" in refused
    assert remedy in refused


def test_an_account_is_looked_up_where_slurm_keeps_accounts(cluster, make):
    plan, place = make(only=("contact",)), site(request={"account": "lab"})
    assert found(plan, place) == []
    cluster(sacctmgr="printf 'genomics\\nimaging\\n'")
    assert "may not use the account lab; allowed: genomics, imaging" in first(plan, place)


def test_the_job_of_each_kind_of_node_is_asked_about_at_its_largest(cluster, make):
    plan = make(only=("segment",), device="cuda", workers=(1, 4))
    asked = [
        (request.partition, request.options["ntasks"], [entry.name for entry in request.entries])
        for request in plan_requests(plan, load_site("modules"))
    ]
    assert asked == [("cpu", "1", ["register_denoise"]), ("gpu", "4", ["segment"])]


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
    cluster(sacctmgr="echo '1-00:00:00|PartitionTimeLimit'")
    assert found(plan, site(request={"time_min": 240, "qos": "long"})) == []


@pytest.mark.parametrize(
    ("told", "options", "statuses"),
    [
        ("2:16:1", (), []),
        ("2:16:2", (), []),
        ("1:8:1\\n1:4+:4+", (), []),
        ("2:16:2", ("--hint=nomultithread",), []),
        ("2:16:2", ("--hint=multithread",), ["warning"]),
        ("2:16:2", ("--ntasks-per-core=2",), ["warning"]),
    ],
)
def test_threads_of_a_core_are_told_with_what_jobs_ask_for(cluster, make, told, options, statuses):
    cluster(sinfo=SINFO.replace("*%l*", f"*%z*) printf '{told}\\n' ;;\n  *%l*"))
    plan, place = make(on_site=site()), site(options=options)
    # A warning is given, and nothing where all is well.
    warned = [one.status for one in found(plan, place) if one.check == "slurm.threads.night"]
    assert warned == statuses


@pytest.mark.parametrize("kind", ["accounting_storage/none", "(null)"])
def test_an_account_where_slurm_keeps_none_is_refused(cluster, make, kind):
    place = site(request={"account": "lab"})
    cluster(scontrol=CONFIG.format(kind=kind))
    assert "account lab, but this Slurm keeps no accounts: leave" in first(make(), place)


def test_gpus_in_a_partition_without_are_refused(cluster, make):
    plan = make(device="cuda")
    assert first(plan).startswith("no node of night has a GPU (gres)")
    # A site may tell its GPU nodes apart by something else.
    assert found(plan, site(request={"gpus": 0})) == []


def test_nodes_that_are_away_for_now_are_a_warning_while_slurm_takes_the_job(cluster, make):
    cluster(sinfo=SINFO.replace("n10 idle", "n10 idle~"))
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
