"""What `pyscale advise` gives to paste is what a real sbatch takes."""

import subprocess

import pytest

from pyscale.analysis.resource_request import Request
from pyscale.planning.sites import Request as SiteRequest
from pyscale.planning.sites import Site
from pyscale.report.directives import directives
from pyscale_stages.registry import load_stage

SITE = {"name": "tests", "summary": "the cluster of the tests"}


def advised(site, **changes):
    fields = {"suite": "demo", "stage": "contact", "device": "cpu", "workers": 2, "windows": 4}
    asked = {"cpus": 1, "gpus": 0, "memory_bytes": 1 << 30, "time_s": 300}
    seen = {"peak_rss_bytes": 1 << 29, "longest_task_s": 60.0, "work_per_window": 6.0}
    request = Request.model_validate(fields | asked | seen | changes)
    return directives("sbatch", [(request, load_stage("contact"))], site)


def told(folder, lines):
    script = folder / "pasted.sh"
    script.write_text(f"#!/bin/sh\n{lines}\ntrue\n")
    return subprocess.run(
        ["sbatch", "--test-only", str(script)], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("memory_option", ["mem", "mem-per-cpu", "none"])
def test_slurm_takes_what_is_advised(slurm, tmp_path, memory_option):
    request = SiteRequest(partition="cpu")
    site = Site(**SITE, memory_option=memory_option, request=request)
    answer = told(tmp_path, advised(site))
    assert answer.returncode == 0, answer.stderr
    assert "to start at" in answer.stderr


def test_slurm_refuses_what_its_nodes_do_not_have(slurm, tmp_path):
    assert told(tmp_path, advised(Site(**SITE), cpus=10_000)).returncode != 0
