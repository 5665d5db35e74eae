"""The cluster that other tests run on: it schedules, nodes fail and come back, nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from slurm import cgroups
from slurm.accounting import ACCOUNT, QOS, QOS_MINUTES
from slurm.cluster import SlurmCluster
from slurm.configuration import CPUS
from slurm.leftovers import running_jobs

ENDLESS = "#!/bin/sh\nexec sleep infinity\n"
OVER_ITS_MEMORY = """\
#!/bin/sh
echo it began
exec python3 -c "held = bytes(1) * (400 << 20); import time; time.sleep(600)"
"""


@pytest.fixture(autouse=True)
def _work_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm writes what jobs say where they are submitted."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    """Write a batch script."""

    def write(text: str) -> Path:
        path = tmp_path / "job.sh"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def endless(script: Callable[[str], Path]) -> Path:
    """A batch script that does not end by itself."""
    return script(ENDLESS)


@pytest.fixture
def until_told(script: Callable[[str], Path], tmp_path: Path) -> tuple[Path, Path]:
    """A batch script, and the file that it waits for."""
    go = tmp_path / "go"
    return script(f"#!/bin/sh\nuntil [ -e '{go}' ]; do sleep 0.1; done\n"), go


def test_an_array_runs_on_every_node_and_keeps_its_exit_code(
    slurm: SlurmCluster, script: Callable[[str], Path], tmp_path: Path
) -> None:
    # None ends before both have begun, else one could run where the other was.
    both = "until [ -s 0 ] && [ -s 1 ]; do sleep 0.1; done"
    file = script(f"#!/bin/sh\necho $SLURMD_NODENAME\n{both}\nexit $SLURM_ARRAY_TASK_ID\n")
    job = slurm.submit("--array=0-1", "--exclusive", "--output=%a", file)
    assert slurm.wait_for_jobs(job) == {job: {"COMPLETED", "FAILED"}}
    assert {(tmp_path / task).read_text().strip() for task in "01"} == {"n1", "n2"}
    assert {task["ExitCode"] for task in slurm.job(job)} == {"0:0", "1:0"}


def test_as_many_jobs_run_at_once_as_there_are_cores(slurm: SlurmCluster, endless: Path) -> None:
    cores = CPUS * len(slurm.nodes)
    job = slurm.submit(f"--array=0-{cores - 1}", endless)
    slurm.wait_until_running(job)
    assert len(slurm.job(job)) == cores


def test_an_array_may_have_ten_thousand_elements(slurm: SlurmCluster, endless: Path) -> None:
    job = slurm.submit("--hold", "--array=0-9999", endless)
    assert slurm.job(job)[0]["ArrayTaskId"] == "0-9999"


def test_ranks_of_one_allocation_run_on_both_nodes(
    slurm: SlurmCluster, script: Callable[[str], Path], tmp_path: Path
) -> None:
    file = script("#!/bin/sh\nsrun sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME'\n")
    job = slurm.submit("--nodes=2", "--ntasks=2", "--output=said", file)
    assert slurm.wait_for_jobs(job) == {job: {"COMPLETED"}}
    assert sorted((tmp_path / "said").read_text().splitlines()) == ["0 n1", "1 n2"]


def test_gpus_are_lent_to_one_job_at_a_time(slurm: SlurmCluster, endless: Path) -> None:
    first = slurm.submit("--partition=gpu", "--gres=gpu:pretended:2", endless)
    slurm.wait_until_running(first)
    second = slurm.submit("--partition=gpu", "--gres=gpu:pretended:1", endless)
    slurm.wait_for(
        lambda: slurm.reason(second) in {"Resources", "Priority"}, "the second job waited"
    )
    slurm.run("scancel", first)
    slurm.wait_until_running(second)


def test_a_drained_node_takes_no_job_until_it_is_healed(slurm: SlurmCluster, endless: Path) -> None:
    slurm.drain("n1")
    job = slurm.submit("--nodelist=n1", endless)
    slurm.wait_for(lambda: "ReqNodeNotAvail" in slurm.reason(job), "the job was held")
    slurm.heal()
    assert slurm.wait_for_jobs(job) == {job: {"CANCELLED"}}
    assert slurm.node_state("n1") == "idle"


@pytest.mark.slow
def test_a_dead_node_fails_its_job_and_comes_back(slurm: SlurmCluster, endless: Path) -> None:
    job = slurm.submit("--nodelist=n1", "--no-requeue", endless)
    slurm.wait_until_running(job)
    slurm.kill_node("n1")
    slurm.wait_for_node("n1", "down")
    assert slurm.wait_for_jobs(job) == {job: {"NODE_FAIL"}}
    slurm.heal()
    assert slurm.node_state("n1") == "idle"


def test_a_job_over_its_memory_is_killed_by_slurm(
    slurm: SlurmCluster, script: Callable[[str], Path], tmp_path: Path
) -> None:
    job = slurm.submit("--mem=100M", "--output=said", script(OVER_ITS_MEMORY))
    # Without cgroups Slurm has no better word; its reason is only in what the job said.
    assert slurm.wait_for_jobs(job) == {job: {"FAILED"}}
    assert slurm.job(job)[0]["ExitCode"] == "0:9"
    slurm.wait_for(
        lambda: "exceeded memory limit" in (tmp_path / "said").read_text(), "the job was told why"
    )


def test_a_job_over_its_memory_is_killed_by_the_kernel(
    slurm_with_accounting: SlurmCluster,
    script: Callable[[str], Path],
    missing: Callable[[str, str], None],
) -> None:
    if not cgroups.can_limit_memory():
        missing("a limit of memory by cgroups", cgroups.HOW_TO_GET_THEM)
    slurm = slurm_with_accounting
    job = slurm.submit("--mem=100M", script(OVER_ITS_MEMORY))
    assert slurm.wait_for_jobs(job) == {job: {"OUT_OF_MEMORY"}}
    slurm.wait_for(lambda: account(slurm, job, "State") == "OUT_OF_MEMORY", "the account says so")


def test_an_urgent_job_takes_the_place_of_another_which_ends(
    slurm: SlurmCluster, endless: Path
) -> None:
    job = slurm.submit("--exclusive", "--nodes=2", "--no-requeue", endless)
    slurm.wait_until_running(job)
    urgent = slurm.submit("--partition=urgent", endless)
    assert slurm.wait_for_jobs(job) == {job: {"PREEMPTED"}}
    slurm.wait_until_running(urgent)


@pytest.mark.slow
def test_an_urgent_job_takes_the_place_of_another_which_runs_again(
    slurm: SlurmCluster, endless: Path
) -> None:
    job = slurm.submit("--exclusive", "--nodes=2", "--requeue", endless)
    slurm.wait_until_running(job)
    urgent = slurm.submit("--partition=urgent", endless)
    slurm.wait_until_running(urgent)
    # Its other node may still be ending it.
    slurm.wait_for(lambda: slurm.job(job)[0]["JobState"] == "PENDING", "the job waited again")
    slurm.run("scancel", urgent)
    slurm.wait_until_running(job)
    assert slurm.job(job)[0]["Restarts"] == "1"


def test_a_job_runs_on_while_the_controller_is_restarted(
    slurm: SlurmCluster, until_told: tuple[Path, Path]
) -> None:
    script, go = until_told
    job = slurm.submit(script)
    slurm.wait_until_running(job)
    before = slurm.job(job)[0]["StartTime"]
    slurm.restart_slurmctld()
    assert slurm.job(job)[0]["StartTime"] == before
    go.touch()
    assert slurm.wait_for_jobs(job) == {job: {"COMPLETED"}}


@pytest.mark.slow
def test_the_end_of_a_job_is_not_lost_while_the_controller_is_away(
    slurm: SlurmCluster, until_told: tuple[Path, Path]
) -> None:
    script, go = until_told
    job = slurm.submit(script)
    slurm.wait_until_running(job)
    slurm.stop_slurmctld()
    assert slurm.run("squeue", check=False).returncode != 0
    go.touch()
    slurm.wait_for(lambda: job not in running_jobs(), "its program had ended")
    slurm.start_slurmctld()
    assert slurm.wait_for_jobs(job) == {job: {"COMPLETED"}}


@pytest.mark.slow
def test_an_ended_job_can_be_forgotten_soon(slurm: SlurmCluster) -> None:
    with slurm.forgetting_ended_jobs():
        job = slurm.submit("--wrap=true")
        slurm.wait_for(lambda: slurm.is_forgotten(job), "the job was forgotten")
        assert "Invalid job id" in slurm.run("squeue", "--jobs", job, check=False).stderr
    job = slurm.submit("--wrap=true")
    assert slurm.wait_for_jobs(job) == {job: {"COMPLETED"}}


def test_without_accounting_sacct_fails(slurm: SlurmCluster) -> None:
    said = slurm.run("sacct", check=False)
    assert (said.returncode, said.stderr) == (1, "Slurm accounting storage is disabled\n")


def test_with_accounting_sacct_knows_who_pays_for_a_job(
    slurm_with_accounting: SlurmCluster,
) -> None:
    slurm = slurm_with_accounting
    job = slurm.submit("--wrap=exit 3", f"--qos={QOS}", f"--time={QOS_MINUTES}")
    assert slurm.wait_for_jobs(job) == {job: {"FAILED"}}
    slurm.wait_for(
        lambda: account(slurm, job, "Account,QOS,State,ExitCode") == f"{ACCOUNT}|{QOS}|FAILED|3:0",
        "the account was complete",
    )


@pytest.mark.parametrize(
    "option", ["--account=nobody", "--qos=none", f"--qos={QOS} --time={QOS_MINUTES + 1}"]
)
def test_with_accounting_a_job_is_refused_that_no_account_allows(
    slurm_with_accounting: SlurmCluster, option: str
) -> None:
    slurm = slurm_with_accounting
    assert slurm.run("sbatch", "--wrap=true", *option.split(), check=False).returncode == 1


@pytest.mark.slow
def test_accounts_are_complete_after_slurmdbd_was_away(slurm_with_accounting: SlurmCluster) -> None:
    slurm = slurm_with_accounting
    slurm.stop_slurmdbd()
    assert "Connection refused" in slurm.run("sacct", check=False).stderr
    job = slurm.submit("--wrap=true")
    assert slurm.wait_for_jobs(job) == {job: {"COMPLETED"}}
    slurm.start_slurmdbd()
    slurm.wait_for(lambda: account(slurm, job, "State") == "COMPLETED", "the account arrived")


@pytest.mark.usefixtures("broken_sacct")
def test_sacct_can_be_broken_alone(slurm_with_accounting: SlurmCluster) -> None:
    slurm = slurm_with_accounting
    assert slurm.run("sacct", check=False).returncode == 1
    assert slurm.run("squeue").returncode == 0


def account(slurm: SlurmCluster, job: str, fields: str) -> str:
    """What sacct says of a job itself, not of its steps."""
    return slurm.say(
        "sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={job}", f"--format={fields}"
    )
