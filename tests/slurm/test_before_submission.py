"""Before anything is submitted: what Slurm would refuse is refused; a dry run shows the rest."""

import re
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest

from commandline import answer_of
from pyscale.analysis.resource_request import Request
from pyscale.planning.sites import Request as SiteRequest
from pyscale.planning.sites import Site
from pyscale.report.directives import directives
from pyscale_stages.registry import load_stage
from slurm.runs import STEP

LIMIT_S = 600
HEAD = 'name = "mine"\nsummary = "a test"\n'
SMALL = "[request]\nmemory_gib = 1\ntime_min = 30\nhold_limit_hours = 1\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.txt").write_text("what is copied")
    return tmp_path


@pytest.fixture
def run(home, capsys):
    """Run the step that copies on the cluster, for a site of which some lines are given."""

    def start(*flags, site=SMALL):
        (home / "mine.toml").write_text(HEAD + site)
        command = ["run", *STEP, "--data", "data.txt", "--repeats", "1"]
        command += ["--workers", "1,2", "--executor", "slurm", "--site", "mine.toml"]
        return answer_of(capsys, "pyscale", *command, *flags)

    return start


@pytest.fixture
def refused(run, slurm, home):
    """Start a run that is refused in one sentence, and leaves no job and no run; return it."""

    def sentence(*flags, site):
        answer = run(*flags, site=site)
        assert answer.code == 2, answer.err
        assert answer.out == ""
        assert answer.err.count("\n") == 1
        assert answer.err.startswith("error: ")
        assert slurm.has_no_job()
        assert not (home / "runs").exists()
        return answer.err

    return sentence


GPUS = ("--device", "cuda")


@pytest.mark.parametrize(
    ("flags", "site", "sentence"),
    [
        ((), '[request]\noptions = ["--partition=night"]\n', "invalid partition specified: night"),
        ((), '[request]\noptions = ["--account=other"]\n', "Invalid account"),
        ((), "[request]\nmemory_gib = 4000\n", "change --mem-per-cpu"),
        (
            GPUS,
            '[request]\noptions = ["--partition=gpu"]\ngpus = 3\n',
            "gpus?(-per-task)?=(gpu:)?3",
        ),
        (GPUS, '[request]\noptions = ["--gpus-per-task=a100:{gpus}"]\n', "a100"),
        (("--workers", "12"), SMALL, "--ntasks=12 "),
    ],
    ids=["partition", "account", "memory", "GPUs", "type of GPU", "nodes"],
)
def test_what_the_cluster_has_not_or_does_not_allow_is_refused(refused, flags, site, sentence):
    assert re.search(sentence, refused(*flags, site=site))


@contextmanager
def partition_limited_to(cluster, minutes):
    cluster.run("scontrol", "update", "PartitionName=cpu", f"MaxTime={minutes}")
    try:
        yield
    finally:
        cluster.run("scontrol", "update", "PartitionName=cpu", "MaxTime=INFINITE")


def test_a_partition_or_a_qos_limits_the_time_of_the_job_and_whether_there_is_one(
    refused, run, slurm
):
    with partition_limited_to(slurm, 30):
        answer = run("--dry-run", site="[request]\nmemory_gib = 1\n")
        assert "#SBATCH --time=00:30:00" in answer.out
    answer = run("--dry-run", site='[request]\noptions = ["--qos=short"]\nmemory_gib = 1\n')
    assert "#SBATCH --time=00:10:00" in answer.out
    for node in slurm.nodes:
        slurm.drain(node)
    assert "Slurm refuses" in refused(site=SMALL)


def assert_taken(slurm, script):
    """Slurm would take a script; it may need a moment after its nodes were out."""
    slurm.wait_for(
        lambda: slurm.run("sbatch", "--test-only", script, check=False).returncode == 0,
        "Slurm would take the script",
    )


def test_a_dry_run_submits_nothing_and_slurm_would_take_its_script(run, slurm, home, missing):
    if shutil.which("shellcheck") is None:
        missing("shellcheck", "run scripts/provide_slurm.sh as root, or install shellcheck")
    site = (
        'scratch = "$HOME/scratch"\nsetup = ["export A=1"]\n'
        + SMALL
        + 'options = ["--exclusive"]\n'
    )
    before = slurm.known_jobs()
    answer = run("--dry-run", site=site)
    assert answer.code == 0, answer.err
    assert slurm.known_jobs() <= before
    assert not (home / "runs").exists()
    _, begin, rest = answer.out.partition("#!/bin/bash\n")
    script = home / "shown.sh"
    script.write_text(begin + rest.partition("\nOne job for all trials")[0])
    assert_taken(slurm, script)
    subprocess.run(["shellcheck", script], check=True)


@pytest.mark.slow
def test_a_run_inside_a_job_is_not_taken_for_a_part_of_it(slurm, home, run):
    (home / "mine.toml").write_text(HEAD + SMALL)
    job = home / "outer.sh"
    job.write_text(
        "#!/bin/bash\n"
        f"{sys.executable} -m pyscale run --step 'cp {{input}} {{output}}' --split none "
        "--output copy.txt --data data.txt --repeats 1 --workers 2 --cache asis "
        "--executor slurm --site mine.toml\n"
    )
    # Memory by the node around memory by the core is what srun refuses.
    outer = slurm.submit("--mem=500M", f"--output={home}/log", job)
    assert slurm.wait_for_jobs(outer, deadline_s=LIMIT_S) == {outer: {"COMPLETED"}}, (
        home / "log"
    ).read_text()


def told(folder, site, **changes):
    """What Slurm says to what `pyscale advise` gives to paste."""
    fields = {"suite": "demo", "stage": "contact", "device": "cpu", "workers": 2, "windows": 4}
    asked = {"cpus": 1, "gpus": 0, "memory_bytes": 1 << 30, "time_s": 300}
    seen = {"peak_rss_bytes": 1 << 29, "longest_task_s": 60.0, "work_per_window": 6.0}
    request = Request.model_validate(fields | asked | seen | changes)
    script = folder / "pasted.sh"
    lines = directives("sbatch", [(request, load_stage("contact"))], site)
    script.write_text(f"#!/bin/sh\n{lines}\ntrue\n")
    return subprocess.run(
        ["sbatch", "--test-only", str(script)], capture_output=True, text=True, check=False
    )


def test_slurm_takes_what_is_advised_and_not_what_its_nodes_do_not_have(slurm, tmp_path):
    del slurm
    about = {"name": "tests", "summary": "the cluster of the tests"}
    by_core = "--mem-per-cpu={memory_mib_per_core}M"
    for memory, options in ((True, ()), (True, (by_core,)), (False, ())):
        request = SiteRequest(options=("--partition=cpu", *options))
        site = Site(**about, memory=memory, request=request)
        answer = told(tmp_path, site)
        assert answer.returncode == 0, answer.stderr
        assert "to start at" in answer.stderr
        assert told(tmp_path, site, cpus=10_000).returncode != 0
