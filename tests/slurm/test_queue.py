"""What the controller of a real Slurm tells of the jobs of one name."""

from datetime import UTC, datetime, timedelta

import pytest

from pyscale.slurm.queue import SlurmSilent, cancel, job_of, jobs_named
from slurm.configuration import CPUS


class OurJobs:
    """Jobs of a name that no other test uses: Slurm remembers those for minutes."""

    def __init__(self, slurm, name):
        self.slurm = slurm
        self.name = name

    def submit(self, *arguments):
        usual = (f"--job-name={self.name}", "--output=/dev/null", "--no-requeue")
        return self.slurm.submit(*usual, *arguments)

    def seen(self):
        return jobs_named(self.name)

    def when(self, states):
        """What the queue tells as soon as jobs are in states."""
        self.slurm.wait_for(
            lambda: states.items() <= {i: job.state for i, job in self.seen().items()}.items(),
            f"the jobs were {states}",
        )
        return self.seen()


@pytest.fixture
def ours(slurm, tmp_path):
    return OurJobs(slurm, f"pyscale-a run: of 'mine'|{tmp_path.name}")


def test_a_waiting_job_says_what_for_and_a_running_one_where_and_since_when(ours, endless):
    ours.slurm.drain("n1")
    before = datetime.now(UTC) - timedelta(seconds=1)
    running = ours.submit("--comment=a trial/windows", "--exclusive", endless)
    waiting = ours.submit("--nodelist=n2", endless)
    held = ours.submit("--hold", endless)
    ours.slurm.submit("--job-name=another", "--hold", "--output=/dev/null", endless)
    ours.when({running: "RUNNING"})
    ours.slurm.wait_for(
        lambda: ours.seen()[waiting].reason not in {"", "None"}, "a reason was there"
    )
    jobs = ours.seen()
    assert set(jobs) == {running, waiting, held}
    job = jobs[running]
    assert (job.name, job.comment) == (ours.name, "a trial/windows")
    assert (job.node, job.alive) == ("n2", True)
    assert job.start is not None
    assert before <= job.start <= datetime.now(UTC)
    assert (jobs[waiting].state, jobs[waiting].node) == ("PENDING", "")
    assert jobs[waiting].alive
    assert (jobs[held].reason, jobs[held].start) == ("JobHeldUser", None)


def test_a_gang_is_one_job_on_all_its_nodes(ours, endless):
    job = ours.submit("--nodes=2", "--ntasks=2", endless)
    jobs = ours.when({job: "RUNNING"})
    assert jobs[job].node == "n[1-2]"


def test_running_and_waiting_elements_of_an_array_are_all_told(ours, endless):
    at_once = CPUS * len(ours.slurm.nodes)
    array = ours.submit(f"--array=0-{at_once + 2}", endless)
    ids = [f"{array}_{index}" for index in range(at_once + 3)]
    jobs = ours.when(dict.fromkeys(ids[:at_once], "RUNNING"))
    assert set(jobs) == set(ids)
    assert {jobs[job_id].node for job_id in ids[:at_once]} == set(ours.slurm.nodes)
    assert {jobs[job_id].state for job_id in ids[at_once:]} == {"PENDING"}


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("0-9999%8", range(10_000)),
        ("0-19999:2", range(0, 20_000, 2)),
        ("0,7-19992:7", range(0, 19_993, 7)),
        ("1,3,5,100-300,4007", [1, 3, 5, *range(100, 301), 4007]),
    ],
)
def test_no_element_of_a_large_array_is_left_out(ours, endless, told, meant):
    array = ours.submit("--hold", f"--array={told}", endless)
    assert set(ours.seen()) == {f"{array}_{index}" for index in meant}


def test_how_jobs_ended_is_remembered(ours, endless):
    done = ours.submit("--wrap=true")
    failed = ours.submit("--wrap=exit 3")
    array = ours.submit("--array=0-2", endless)
    ours.slurm.wait_until_running(array)
    ours.slurm.run("scancel", f"{array}_1")
    jobs = ours.when(
        {
            done: "COMPLETED",
            failed: "FAILED",
            f"{array}_0": "RUNNING",
            f"{array}_1": "CANCELLED",
            f"{array}_2": "RUNNING",
        }
    )
    assert [job_id for job_id, job in jobs.items() if job.alive] == [f"{array}_0", f"{array}_2"]
    assert jobs[f"{array}_1"].node


def test_jobs_are_cancelled_with_their_whole_array_and_no_others(ours, endless):
    at_once = CPUS * len(ours.slurm.nodes)
    array = ours.submit(f"--array=0-{at_once + 2}", endless)
    other = ours.submit("--hold", endless)
    gone = ours.submit("--hold", endless)
    ours.when({f"{array}_{index}": "RUNNING" for index in range(at_once)})
    cancel([gone])
    # What has ended, or is not known any more, is no error.
    cancel([f"{array}_1", gone, "999999"])
    states = {f"{array}_{index}": "CANCELLED" for index in range(at_once + 3)}
    jobs = ours.when(states | {other: "PENDING", gone: "CANCELLED"})
    assert jobs[f"{array}_{at_once}"].node == ""


def test_elements_that_a_user_cancels_by_name_are_known_by_their_array(ours, endless):
    array = ours.submit("--hold", "--array=0-3", endless)
    ours.slurm.run("scancel", f"--name={ours.name}")
    ours.slurm.wait_for(lambda: not any(job.alive for job in ours.seen().values()), "all had ended")
    job = job_of(ours.seen(), f"{array}_2")
    assert job.state == "CANCELLED"


def test_what_a_user_has_set_for_squeue_changes_nothing(ours, endless, monkeypatch):
    array = ours.submit("--hold", "--array=0-99:3", endless)
    before = ours.when({f"{array}_{index}": "PENDING" for index in range(0, 100, 3)})
    assert len(before) == 34
    assert f"{array}_99" in before
    for name, value in {
        "SQUEUE_FORMAT": "%A",
        "SQUEUE_ARRAY": "1",
        "SQUEUE_STATES": "RUNNING",
        "SQUEUE_PARTITION": "gpu",
        "SLURM_TIME_FORMAT": "relative",
        "SLURM_BITSTR_LEN": "8",
    }.items():
        monkeypatch.setenv(name, value)
    assert ours.seen() == before


@pytest.mark.slow
def test_a_controller_that_is_away_is_silent_and_says_so(ours, endless):
    job = ours.submit(endless)
    ours.slurm.stop_slurmctld()
    with pytest.raises(SlurmSilent, match="^squeue: Unable to contact slurm controller"):
        ours.seen()
    with pytest.raises(SlurmSilent, match="^scancel: .*Unable to contact slurm controller"):
        cancel([job])
    ours.slurm.start_slurmctld()
    assert set(ours.seen()) == {job}
