"""A node is called what Slurm calls it."""

from __future__ import annotations

import os

from pyscale_stages.measure import pagecache, stamp
from pyscale_stages.measure.nodename import host_name, node_name


def test_outside_a_job_it_is_the_host(monkeypatch):
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)
    assert node_name() == host_name() == os.uname().nodename


def test_in_a_job_it_is_slurms_name_and_records_have_it(frames, monkeypatch):
    monkeypatch.setenv("SLURMD_NODENAME", "n17")
    assert node_name() == "n17"
    assert host_name() == os.uname().nodename
    assert stamp.take().node == "n17"
    assert pagecache.evict(frames).node == "n17"


def test_it_reaches_the_inside_of_an_image():
    assert "SLURMD_NODENAME" in stamp.SLURM_VARIABLES
