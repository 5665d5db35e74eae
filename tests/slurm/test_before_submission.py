"""Before anything is submitted: what Slurm would refuse is refused; a dry run shows the rest."""

import re
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest

from commandline import answer_of
from movingsquares import write_moving_squares
from slurm.configuration import set_option

LIMIT_S = 600
HEAD = 'name = "mine"\nsummary = "a test"\n'
SMALL = "[request]\nmemory_gib = 1\ntime_min = 30\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_moving_squares(tmp_path / "labels.ome.tif")
    return tmp_path


@pytest.fixture
def run(home, capsys):
    """Run contacts on the cluster, for a site of which some lines are given."""

    def start(*flags, site=SMALL):
        (home / "mine.toml").write_text(HEAD + site)
        command = ["run", "labels", "--data", "labels.ome.tif", "--only", "contact"]
        command += ["--repeats", "1", "--executor", "slurm", "--site", "mine.toml"]
        return answer_of(capsys, "pyscale", *command, *flags)

    return start


@pytest.fixture
def refused(run, home):
    """Start a run that is refused in one sentence, and leaves no job and no run; return it."""

    def sentence(cluster, *flags, site):
        flags = flags or ("--workers", "1,2")
        answer = run(*flags, site=site)
        assert answer.code == 2, answer.err
        assert answer.out == ""
        assert answer.err.count("\n") == 1
        assert answer.err.startswith("error: ")
        assert cluster.has_no_job()
        assert not (home / "runs").exists()
        return answer.err

    return sentence


@contextmanager
def partition_limited_to(cluster, minutes):
    cluster.run("scontrol", "update", "PartitionName=cpu", f"MaxTime={minutes}")
    try:
        yield
    finally:
        cluster.run("scontrol", "update", "PartitionName=cpu", "MaxTime=INFINITE")


@contextmanager
def configured(cluster, option, value):
    """Let the controller begin anew with another value of an option."""
    before = set_option(cluster.folder, option, value)
    cluster.restart_slurmctld()
    # Until its nodes have answered they take no jobs.
    cluster.heal()
    try:
        yield
    finally:
        set_option(cluster.folder, option, before)
        cluster.restart_slurmctld()


@contextmanager
def most_submitted_jobs(cluster, count):
    change = ("sacctmgr", "--immediate", "--quiet", "modify", "qos", "normal", "set")

    def too_many():
        more = ("sbatch", "--test-only", f"--array=0-{count}", "--wrap=true")
        return cluster.run(*more, check=False).returncode != 0

    cluster.run(*change, f"MaxSubmitJobsPerUser={count}")
    try:
        cluster.wait_for(too_many, "the controller heard of the limit")
        yield
    finally:
        cluster.run(*change, "MaxSubmitJobsPerUser=-1")
        cluster.wait_for(lambda: not too_many(), "the controller heard of its end")


@pytest.mark.parametrize(
    ("site", "sentence"),
    [
        ('[request]\npartition = "night"\n', "unknown partition 'night': this cluster has cpu"),
        ('[request]\naccount = "lab"\n', "account lab, but this Slurm keeps no accounts: leave"),
        ("[request]\nmemory_gib = 4000\n", "for its memory .*: set memory_gib in the site's file"),
        ("[request]\ncpus = 64\n", r"--cpus-per-task=64 .*: change the site's file"),
        ('[request]\nconstraint = "avx9"\n', "Invalid feature specification"),
        ('options = ["--reservation=spring"]\n', "Requested reservation is invalid"),
        ('options = ["--array=0-3"]\n', "pyscale sets --array itself: leave --array=0-3 out"),
    ],
)
def test_what_the_cluster_has_not_is_refused(refused, slurm, site, sentence):
    assert re.search(sentence, refused(slurm, site=site))


def test_gpus_that_no_node_has_are_refused(refused, slurm):
    flags = ("--workers", "1,2", "--device", "cuda")
    said = refused(slurm, *flags, site='[request]\npartition = "gpu"\ngpus = 3\n')
    assert "--gres=gpu:3" in said
    typed = 'gpu_option = "--gres=gpu:{type}:{count}"\n[request]\ngpu_type = "a100"\n'
    assert "--gres=gpu:a100:1" in refused(slurm, *flags, site=typed)


def test_a_gang_larger_than_the_cluster_is_refused(refused, slurm):
    flags = ("--workers", "6", "--layout", "gang")
    said = refused(slurm, *flags, site="[request]\ncpus = 2\nmemory_gib = 1\n")
    assert "--ntasks=6" in said
    assert "lower --workers, use --layout array, or change the site's file" in said


def test_more_time_than_the_partition_allows_is_refused(refused, slurm):
    with partition_limited_to(slurm, 30):
        said = refused(slurm, site="[request]\nmemory_gib = 1\ntime_min = 31\n")
    assert "asks for 00:31:00, but the partition cpu allows 30:00: lower time_min" in said


@pytest.mark.slow
def test_an_array_larger_than_slurm_takes_is_refused(refused, slurm):
    with configured(slurm, "MaxArraySize", 3):
        said = refused(slurm, "--workers", "2", "--chunks-per-worker", "2", site=SMALL)
    assert "an array of 4 jobs of contact" in said
    assert "MaxArraySize is 3): lower --workers or --chunks-per-worker" in said


@pytest.mark.slow
def test_what_the_accounts_do_not_allow_is_refused(refused, slurm_with_accounting):
    cluster = slurm_with_accounting
    said = refused(cluster, site='[request]\naccount = "other"\nmemory_gib = 1\n')
    assert "may not use the account other" in said
    said = refused(cluster, site='[request]\nqos = "short"\nmemory_gib = 1\ntime_min = 11\n')
    assert "the QOS short allows 00:10:00: lower time_min" in said
    with most_submitted_jobs(cluster, 3):
        said = refused(cluster, "--workers", "4", site=SMALL)
        assert "an array of 4 jobs of contact (allocation failure: Job violates" in said
        assert said.endswith("lower --workers or --chunks-per-worker\n")


def test_a_partition_whose_nodes_are_all_out_is_refused(refused, slurm):
    for node in slurm.nodes:
        slurm.drain(node)
    assert "0 of 2 nodes of cpu take jobs" in refused(slurm, site=SMALL)


def shown(output):
    """Scripts of a dry run, by what they are for."""
    _, *parts = re.split(r"^==> script \d+ of \d+, .* <==\n", output, flags=re.MULTILINE)
    # The table of the cost follows the last.
    texts = [part.partition("\nThe most that it can cost")[0].partition("\n\n") for part in parts]
    return {purposes: text for purposes, _, text in texts}


def assert_taken(slurm, script):
    """Slurm would take a script; it may need a moment after its nodes were out."""
    said = ""

    def taken():
        nonlocal said
        answer = slurm.run("sbatch", "--test-only", script, check=False)
        said = answer.stderr
        return answer.returncode == 0

    try:
        slurm.wait_for(taken, "Slurm would take the script")
    except TimeoutError as error:
        raise AssertionError(said) from error


@pytest.mark.parametrize("layout", ["array", "gang"])
def test_a_dry_run_submits_nothing_and_slurm_would_take_its_scripts(
    run, slurm, home, layout, missing
):
    if shutil.which("shellcheck") is None:
        missing("shellcheck", "run scripts/provide_slurm.sh as root, or install shellcheck")
    site = 'scratch = "$HOME/scratch"\nsetup = ["export A=1"]\n[request]\nexclusive = true\n'
    before = slurm.known_jobs()
    answer = run("--workers", "1,2", "--layout", layout, "--dry-run", site=site)
    assert answer.code == 0, answer.err
    assert slurm.known_jobs() <= before
    assert not (home / "runs").exists()
    scripts = shown(answer.out)
    assert (
        list(scripts)
        == [
            "windows at N = 1: contact",
            "windows at N = 2: contact",
            "merge at N = 2: contact\ncheck at N = 2: contact",
        ]
        or layout == "array"
    )
    for number, text in enumerate(scripts.values()):
        file = home / f"{number}.sh"
        file.write_text(text)
        assert_taken(slurm, file)
        subprocess.run(["shellcheck", file], check=True)
    # One window, two, a merge and a check: each has a node of four cores for an hour.
    (total,) = re.findall(r"total\W+(\d+)\W+([\d.]+)\W+([\d.]+)", answer.out)
    assert total == ("5" if layout == "array" else "4", "20.0", "0.0")


@pytest.mark.slow
def test_a_run_inside_a_job_is_not_taken_for_a_part_of_it(slurm, home, run):
    (home / "mine.toml").write_text(HEAD + SMALL)
    job = home / "outer.sh"
    job.write_text(
        "#!/bin/bash\n"
        f"{sys.executable} -m pyscale run labels --data labels.ome.tif --only contact --repeats 1 "
        "--workers 2 --layout gang --executor slurm --site mine.toml\n"
    )
    # Memory by the node around memory by the core is what srun refuses.
    outer = slurm.submit("--mem=500M", f"--output={home}/log", job)
    assert slurm.wait_for_jobs(outer, deadline_s=LIMIT_S) == {outer: {"COMPLETED"}}, (
        home / "log"
    ).read_text()
