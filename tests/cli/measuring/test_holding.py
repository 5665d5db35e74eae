import os

import pytest

from mockruns import carry_out, site
from programs import put_program
from pyscale.errors import UserError
from pyscale.measuring.holding import Holder
from pyscale.slurm import commands
from pyscale.store.allocations import read_allocations
from pyscale.store.folder import RunFolder
from refusals import refused

STRAY = "printf '\\03617\\037PENDING\\037\\037N/A\\037Resources\\n'"
SILENT = "echo 'scancel: error: Unable to contact slurm controller' >&2; exit 1"


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Put commands of a pretended Slurm on PATH, by their lines of shell."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)

    def put(**commands):
        for name, lines in commands.items():
            put_program(tmp_path / "bin", name, lines)

    put(squeue="exit 0", scancel="exit 0", sinfo="exit 0", sacct="exit 0")
    return put


@pytest.fixture
def run(make, tmp_path):
    plan = make(only=("register_denoise",), workers=(1,), repeats=1, on_site=site())
    return RunFolder.create(tmp_path / "runs", plan)


@pytest.mark.parametrize(
    ("scancel", "said"), [("exit 0", ["1"]), (SILENT, [])], ids=["Slurm answers", "it is silent"]
)
def test_a_stray_job_is_told_as_ended_only_where_slurm_was_told(slurm, run, scancel, said):
    slurm(squeue=STRAY, scancel=scancel)
    assert carry_out(run) == ()
    heard = []
    Holder(run, heard.append).begin()
    assert [event.detail for event in heard if event.kind == "jobs_ended"] == said


SITE_REFUSES = "No account given. Add --account=YOURLAB and try again"
SLURM_REFUSES = "sbatch: error: Batch job submission failed: Unspecified error"
TIMED_OUT = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"


@pytest.fixture
def refusing(slurm, tmp_path):
    """Let sbatch refuse every job in some words; returns how often it was called."""
    calls = tmp_path / "calls"

    def put(*said):
        told = "\n".join(f"echo '{line}' >&2" for line in said)
        slurm(sbatch=f"echo x >> '{calls}'\n{told}\nexit 1")
        return lambda: calls.read_text().count("x")

    return put


def test_a_refusal_that_says_try_again_is_told_whole_and_not_tried_again(refusing, run):
    called = refusing(SITE_REFUSES, SLURM_REFUSES)
    with refused(UserError):
        Holder(run, lambda _event: None).begin()
    assert called() == 1
    last = "sbatch: error: Batch job submission failed: Unable to create job record, try again"
    called = refusing(last)
    with refused(UserError):
        Holder(run, lambda _event: None).begin()
    assert called() == 2


def test_a_controller_that_stays_away_is_asked_ten_times_in_five_minutes(
    refusing, run, monkeypatch
):
    pauses, heard = [], []
    monkeypatch.setattr(commands, "wait", pauses.append)
    called = refusing(TIMED_OUT)
    with refused(UserError):
        Holder(run, heard.append).begin()
    assert called() == 10
    assert sum(pauses) == 302
    (silent,) = [event.detail for event in heard if event.kind == "slurm_silent"]
    assert "Socket timed out on send/recv operation" in silent
    assert read_allocations(run.path).job_ids == ()


JOBS = "[ -e {calls} ] && printf '\\03617\\037CANCELLED\\037n1\\037N/A\\037None\\n'"


def test_a_job_that_somebody_cancels_ends_the_run_and_no_other_is_submitted(slurm, run, tmp_path):
    calls = tmp_path / "calls"
    slurm(
        sbatch=f"echo x >> {calls}; echo Submitted batch job 17",
        squeue=JOBS.format(calls=calls) + "; exit 0",
        sacct="exit 1",
    )
    heard = []
    with refused(UserError):
        Holder(run, heard.append).finish()
    assert calls.read_text() == "x\n"
    (ended,) = [event.detail for event in heard if event.kind == "allocation_ended"]
    assert ended == "job 17 was cancelled on n1"
    # Who goes on asks for a new one.
    slurm(squeue="exit 0")
    Holder(run, heard.append).begin()
    assert calls.read_text() == "x\nx\n"
