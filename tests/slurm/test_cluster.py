"""The cluster that other tests run on: it schedules, nodes fail and come back, nothing is left."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from slurm.cluster import SlurmCluster
from slurm.leftovers import OWNER_FILE, clear_leftovers

TESTS = Path(__file__).resolve().parents[1]
ENDLESS = "#!/bin/sh\nexec sleep infinity\n"


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A batch script that does not end by itself."""
    script = tmp_path / "endless.sh"
    script.write_text(ENDLESS)
    return script


def test_an_array_runs_on_every_node_and_keeps_its_exit_code(
    slurm: SlurmCluster, tmp_path: Path
) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\necho $SLURMD_NODENAME\nexit $SLURM_ARRAY_TASK_ID\n")
    job = slurm.submit("--array=0-1", "--exclusive", f"--output={tmp_path}/%a", script)
    assert slurm.wait_for_jobs(job) == {job: {"COMPLETED", "FAILED"}}
    assert {(tmp_path / task).read_text().strip() for task in "01"} == {"n1", "n2"}
    assert {task["ExitCode"] for task in slurm.job(job)} == {"0:0", "1:0"}


def test_gpus_are_lent_to_one_job_at_a_time(slurm: SlurmCluster, endless: Path) -> None:
    first = slurm.submit("--partition=gpu", "--gres=gpu:pretended:2", endless)
    slurm.wait_for(lambda: slurm.job(first)[0]["JobState"] == "RUNNING", "the first job ran")
    second = slurm.submit("--partition=gpu", "--gres=gpu:pretended:1", endless)
    slurm.wait_for(
        lambda: slurm.job(second)[0]["Reason"] in {"Resources", "Priority"}, "the second job waited"
    )
    slurm.run("scancel", first)
    slurm.wait_for(lambda: slurm.job(second)[0]["JobState"] == "RUNNING", "the second job ran")


def test_a_drained_node_takes_no_job_until_it_is_healed(slurm: SlurmCluster, endless: Path) -> None:
    slurm.drain("n1")
    job = slurm.submit("--nodelist=n1", endless)
    slurm.wait_for(lambda: "ReqNodeNotAvail" in slurm.job(job)[0]["Reason"], "the job was held")
    slurm.heal()
    assert slurm.wait_for_jobs(job) == {job: {"CANCELLED"}}
    assert slurm.node_state("n1") == "idle"


@pytest.mark.slow
def test_a_dead_node_fails_its_job_and_comes_back(slurm: SlurmCluster, endless: Path) -> None:
    job = slurm.submit("--nodelist=n1", "--no-requeue", endless)
    slurm.wait_for(lambda: slurm.job(job)[0]["JobState"] == "RUNNING", "the job ran")
    slurm.kill_node("n1")
    slurm.wait_for_node("n1", "down")
    assert slurm.wait_for_jobs(job) == {job: {"NODE_FAIL"}}
    slurm.heal()
    assert slurm.node_state("n1") == "idle"


def test_a_crash_of_the_tests_leaves_nothing_behind(slurm: SlurmCluster) -> None:
    """Killed tests take their daemons along; the next cluster clears what their jobs left."""
    program = (
        "from pathlib import Path\n"
        "from slurm.cluster import running_cluster\n"
        "with running_cluster() as cluster:\n"
        "    script = Path(cluster.folder, 'endless.sh')\n"
        f"    script.write_text({ENDLESS!r})\n"
        "    job = cluster.submit('--output=/dev/null', script)\n"
        "    cluster.wait_for(lambda: cluster.job(job)[0]['JobState'] == 'RUNNING', 'it ran')\n"
        "    print(cluster.folder, flush=True)\n"
        "    input()\n"
    )
    tests = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=TESTS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert tests.stdout is not None
    folder = Path(tests.stdout.readline().strip())
    assert (folder / OWNER_FILE).is_file()
    tests.send_signal(signal.SIGKILL)
    tests.wait()
    clear_leftovers()
    assert not folder.exists()
    assert slurm.folder.exists()
    assert [p for p in psutil.process_iter(["cwd"]) if str(folder) in (p.info["cwd"] or "")] == []
