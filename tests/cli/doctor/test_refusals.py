"""Why Slurm would not carry out the jobs of a plan, by stand-ins that answer as Slurm does."""

import pytest

from mockruns import site
from pyscale.doctor.jobrequest import plan_requests
from pyscale.doctor.preflight import preflight
from pyscale.doctor.slurm import refusals
from pyscale.sites import load_site

ONLY = ("contact",)
SINFO = """
case "$*" in
  *version*) echo "slurm 22.05.8" ;;
  *%N*) printf 'n1|idle|none\\n' ;;
  *%R*) printf 'day\\nnight\\n' ;;
  *%P*) printf 'day*\\nnight\\n' ;;
  *%l*) echo 2:00:00 ;;
  *%G*) printf '(null)\\n' ;;
esac
"""
VERSION = 'echo "slurm 22.05.8"'
CONFIG = "printf 'MaxArraySize            = 3\\nAccountingStorageType   = {kind}\\n'"
TAKES_NOTHING = """
case "$*" in --version) ;; *) echo "allocation failure: no" >&2; exit 1 ;; esac
"""


@pytest.fixture
def cluster(put_on_path):
    """Put stand-ins on PATH; those of a cluster that takes all jobs are there."""
    config = CONFIG.format(kind="accounting_storage/slurmdbd")
    put_on_path(sinfo=SINFO, sbatch=VERSION, squeue=VERSION, scancel=VERSION, scontrol=config)
    put_on_path(sacctmgr="exit 1")
    return put_on_path


def found(plan, place=None):
    return list(refusals(plan, place or load_site("plain")))


def first(plan, place=None):
    finding = found(plan, place)[0]
    assert finding.status == "problem"
    return f"{finding.sentence}: {finding.remedy}"


def test_each_different_job_is_asked_about_once_at_its_largest(cluster, make):
    plan = make(only=ONLY, workers=(1, 2, 4), repeats=3)
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
    cluster(sinfo=f'case "$*" in *version*) {VERSION} ;; *) echo "refused" >&2; exit 1 ;; esac')
    (finding,) = found(make())
    assert finding.sentence == "Slurm's controller does not answer (refused)"
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert first(make()).startswith("Slurm's commands are not on PATH")


def test_time_that_the_partition_and_the_qos_allow_is_not_refused(cluster, make):
    plan = make(only=ONLY)
    assert found(plan, site(request={"time_min": 120})) == []
    assert "partition day allows 2:00:00" in first(plan, site(request={"time_min": 121}))
    cluster(sacctmgr="echo '1-00:00:00|PartitionTimeLimit'")
    assert found(plan, site(request={"time_min": 240, "qos": "long"})) == []


@pytest.mark.parametrize("kind", ["accounting_storage/none", "(null)"])
def test_an_account_where_slurm_keeps_none_is_refused(cluster, make, kind):
    place = site(request={"account": "lab"})
    assert found(make(), place) == []
    cluster(scontrol=CONFIG.format(kind=kind))
    assert "account lab, but this Slurm keeps no accounts: leave" in first(make(), place)


def test_gpus_in_a_partition_without_are_refused(cluster, make):
    plan = make(device="cuda")
    assert first(plan).startswith("no node of day has a GPU (gres)")
    # A site may tell its GPU nodes apart by something else.
    assert found(plan, site(request={"gpus": 0})) == []


def test_nodes_that_are_away_for_now_are_a_warning_while_slurm_takes_the_job(cluster, make):
    cluster(sinfo=SINFO.replace("n1|idle|none", "n1|idle~|none"))
    assert {finding.status for finding in found(make())} == {"warning"}
    # What holds for several jobs is said once.
    several = site(override=[{"stage": "segment", "cpus": 2}])
    plan = make(device="cpu").model_copy(update={"site": several})
    assert len([one for one in preflight(plan) if one.check == "slurm.partition.day"]) == 1
    cluster(sbatch=TAKES_NOTHING)
    assert first(make()).startswith("0 of 1 node of day take jobs")


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
