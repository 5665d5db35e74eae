"""What Slurm answers is understood, whatever a site's Slurm is like.

The programs are stand-ins that answer as Slurm 22.05 does; `tests/slurm` asks a real one.
"""

import os
from pathlib import Path

import pytest

from pyscale.doctor.jobrequest import job_requests
from pyscale.doctor.nodes import script
from pyscale.doctor.slurm import slurm
from pyscale.errors import UserError
from pyscale.sites import Site, load_site
from pyscale.slurm.commands import nodes_of, on_login_node

SINFO = """
case "$*" in
  *version*) echo "slurm 22.05.8" ;;
  *%N*) printf 'n10|idle|none\\nn2|down*|no power\\nn2|down*|no power\\n' ;;
  *%R*) printf 'day\\nnight\\n' ;;
  *%P*) printf 'day\\nnight*\\n' ;;
  *%l*) echo 1-00:00:00 ;;
  *%G*) printf '(null)\\n' ;;
esac
"""
VERSION = 'echo "slurm 22.05.8"'
REFUSES_MEMORY = """
for word in "$@"; do
  case $word in --mem*) echo "sbatch: error: Memory is not to be specified" >&2; exit 1 ;; esac
done
"""


@pytest.fixture
def cluster(put_on_path):
    """Put stand-ins on PATH."""
    put_on_path(sinfo=SINFO, sbatch=VERSION, squeue=VERSION, scancel=VERSION, sacct="exit 0")
    return put_on_path


def by_check(requests):
    return {finding.check: finding for finding in slurm(requests)}


def test_a_machine_without_slurm_needs_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = slurm([])
    assert found.status == "not applicable"
    with pytest.raises(UserError, match="sinfo is not on PATH"):
        nodes_of("day")


def test_nodes_come_once_each_and_in_the_order_of_their_numbers(cluster):
    assert [node.name for node in nodes_of("day")] == ["n2", "n10"]
    assert on_login_node() == ("SLURM_JOB_ID" not in os.environ)


def test_a_controller_that_is_down_is_a_problem_only_where_jobs_are_wanted(cluster, subject):
    requests = job_requests(subject(), load_site("plain"), "day")
    cluster(sinfo=f'case "$*" in *version*) {VERSION} ;; *) echo "refused" >&2; exit 1 ;; esac')
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


def test_jobs_that_name_no_partition_go_to_the_default(cluster, subject):
    (request,) = job_requests(subject(), load_site("plain"), None)
    assert request.partition == "night"


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
