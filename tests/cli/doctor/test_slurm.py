"""Slurm is asked whether it would take the jobs of a run.

The programs are stand-ins that answer as Slurm 22.05 does; `tests/slurm` asks a real one.
"""

import pytest

from mockruns import site
from pyscale.doctor.preflight import UNANSWERED, overriding, preflight, refusals, slurm
from pyscale.planning.sites import load_site
from pyscale.slurm.commands import ask

SINFO = """
case "$*" in
  *%R*) printf 'day\\nnight\\n' ;;
  *%P*) printf 'day\\nnight*\\n' ;;
  *%l*) echo 2:00:00 ;;
esac
"""
NO_CONTROLLER = 'echo "refused" >&2; exit 1'
TAKES_NOTHING = 'echo "allocation failure: no" >&2; exit 1'


@pytest.fixture
def cluster(put_on_path):
    """Put stand-ins on PATH; those of a cluster that takes all jobs are there."""
    put_on_path(sinfo=SINFO, sbatch="exit 0", squeue="exit 0", scancel="exit 0", sacctmgr="exit 1")
    return put_on_path


def problems(findings):
    return [one for one in findings if one.status == "problem"]


def test_a_run_here_needs_no_slurm_that_answers(cluster, tmp_path, monkeypatch):
    assert [one.status for one in slurm()] == ["ok"]
    cluster(sinfo=NO_CONTROLLER)
    assert [(one.code, one.status) for one in slurm()] == [(UNANSWERED, "warning")]
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert list(slurm()) == []


def test_what_a_user_has_set_for_calls_by_hand_changes_no_answer(cluster, monkeypatch):
    monkeypatch.setenv("SINFO_PARTITION", "day")
    cluster(sinfo=f'[ "$SINFO_PARTITION" ] || {SINFO.strip()}')
    assert ask("sinfo", "%R").out.split() == ["day", "night"]


def test_where_slurm_is_not_or_does_not_answer_the_run_is_refused(
    cluster, make, tmp_path, monkeypatch
):
    cluster(sinfo=NO_CONTROLLER)
    for path in (None, tmp_path / "nothing"):
        if path is not None:
            monkeypatch.setenv("PATH", str(path))
        (found,) = refusals(make(), load_site("plain"))
        assert (found.code, found.status) == (UNANSWERED, "problem")


def test_a_job_that_slurm_refuses_is_told_in_its_words(cluster, make):
    plan, place = make(only=("contact",)), site(request={"options": ["--account=lab"]})
    assert list(refusals(plan, place)) == []
    cluster(
        sbatch='case "$*" in *account=lab*) echo "sbatch: error: bad account" >&2; exit 1;; esac'
    )
    (found,) = refusals(plan, place)
    assert (found.code, found.status) == ("slurm.submission", "problem")
    assert "contact" in found.where
    assert "(bad account)" in found.what
    assert "--account by" in found.do


def test_the_job_of_each_kind_of_node_is_asked_about_at_its_largest(cluster, make):
    cluster(sbatch=TAKES_NOTHING)
    plan = make(only=("segment",), device="cuda", workers=(1, 4))
    first, second = refusals(plan, load_site("modules"))
    assert "--partition=cpu " in first.what
    assert "--ntasks=1 " in first.what
    assert "register_denoise" in first.where
    assert "--partition=gpu " in second.what
    assert "--ntasks=4 " in second.what
    assert "segment" in second.where


def test_a_plan_for_a_cluster_looks_for_libraries_and_not_at_this_machines_parts(
    cluster, make, tmp_path, monkeypatch
):
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    plan = make(device="cuda").model_copy(update={"site": site(request={"gpus": 0})})
    assert problems(preflight(plan)) == []
    monkeypatch.setenv("CELLPOSE_LOCAL_MODELS_PATH", str(tmp_path))
    monkeypatch.setenv("SBATCH_QOS", "x")
    weights = make(stages={"segment": {"model": "cyto3"}}).model_copy(update={"site": site()})
    codes = [one.code for one in problems(preflight(weights))]
    assert codes == ["stage.works", "slurm.environment"]


def test_a_run_that_began_before_is_not_judged_again(cluster, make):
    cluster(sbatch=TAKES_NOTHING)
    plan = make().model_copy(update={"site": site()})
    assert problems(preflight(plan))
    assert problems(preflight(plan, asks_slurm=False)) == []


def test_variables_that_sbatch_obeys_before_a_script_are_refused():
    assert list(overriding({"SBATCH_EXPORT": "NONE", "PATH": "/bin"})) == []
    (found,) = overriding({"SBATCH_TIMELIMIT": "5", "SBATCH_ACCOUNT": "lab"})
    assert (found.status, found.where) == ("problem", "SBATCH_ACCOUNT=lab, SBATCH_TIMELIMIT=5")
