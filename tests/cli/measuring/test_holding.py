"""Who holds a job for a run says of it what is so."""

import os

import pytest

from mockruns import carry_out, site
from programs import put_program
from pyscale.measuring.holding import Holder
from pyscale.store.folder import RunFolder

STRAY = "printf '\\03617\\037PENDING\\037\\037N/A\\037Resources\\037allocation\\n'"
SILENT = "echo 'scancel: error: Unable to contact slurm controller' >&2; exit 1"


@pytest.mark.parametrize(
    ("scancel", "said"), [("exit 0", ["1"]), (SILENT, [])], ids=["Slurm answers", "it is silent"]
)
def test_a_stray_job_is_told_as_ended_only_where_slurm_was_told(
    make, tmp_path, monkeypatch, scancel, said
):
    put_program(tmp_path / "bin", "squeue", STRAY)
    put_program(tmp_path / "bin", "scancel", scancel)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    plan = make(only=("register_denoise",), workers=(1,), repeats=1, on_site=site())
    run = RunFolder.create(tmp_path / "runs", plan)
    assert carry_out(run) == ()
    heard = []
    Holder(run, heard.append).begin()
    assert [event.detail for event in heard if event.kind == "jobs_ended"] == said
