"""`pyscale doctor` on a real cluster: every node answers, is named, or is given up in time."""

import re
import signal
from functools import partial

import numpy as np
import pytest

from commandline import commands
from pyscale.doctor.command import Diagnosis
from pyscale_stages.moviewriter import write_movie

LIMIT_S = 600


@pytest.fixture
def command(tmp_path, slurm, monkeypatch):
    movie = tmp_path / "data" / "labels.ome.tif"
    movie.parent.mkdir()
    write_movie(movie, np.ones((4, 8, 8), np.uint16), "TYX")
    monkeypatch.setenv("PYSCALE_DATA", str(movie))
    monkeypatch.setenv("PYSCALE_DATA_FOLDER", str(tmp_path))
    with commands(cwd=tmp_path) as begin:
        yield partial(begin, "doctor", "--suite", "labels")


@pytest.fixture
def doctor(command, tmp_path):
    """Run it to its end; no job and no file stays behind."""

    def run(*arguments):
        process = command("--json", *arguments)
        out, err = process.communicate(timeout=LIMIT_S)
        assert process.returncode in {0, 1}, err
        assert "Traceback" not in err
        assert list((tmp_path / "runs").iterdir()) == []
        found = Diagnosis.model_validate_json(out)
        assert process.returncode == int(found.has_problem)
        return found

    return run


@pytest.fixture
def hide_on_n2(slurm):
    """Put an empty disk on a folder as n2 sees it, and n2 alone."""

    def hide(folder):
        slurm.kill_slurmd("n2")
        program = 'mount -t tmpfs tmpfs "$0" && exec "$@"'
        slurm.start_node("n2", "unshare", "--mount", "sh", "-c", program, str(folder))

    yield hide
    # The cluster starts it anew.
    slurm.kill_node("n2")


@pytest.fixture
def busy(slurm):
    """Occupy n1 by a job that does not end by itself; give its name."""
    job = slurm.submit(
        "--nodelist=n1", "--exclusive", "--output=/dev/null", "--wrap=sleep infinity"
    )
    slurm.wait_until_running(job)
    return slurm.job(job)[0]["JobName"]


def of(found, check):
    return next(finding for finding in found.findings if finding.check == check)


def jobs(slurm):
    return slurm.say("squeue", "--noheader", "--format=%j")


@pytest.mark.slow
def test_every_node_of_a_partition_answers(doctor, slurm):
    found = doctor("--partition", "cpu")
    assert sorted(answer.node for answer in found.nodes) == ["n1", "n2"]
    for answer in found.nodes:
        by_check = {finding.check: finding for finding in answer.findings}
        assert by_check["stage.track.works"].status == "ok"
        assert "1 by Slurm" in by_check["cpu.usable"].sentence
    assert found.partitions == ("cpu",)
    assert "2 of 2 nodes of cpu take jobs" in of(found, "slurm.partition.cpu").sentence
    assert of(found, "slurm.submission.contact").status == "ok"
    # This cluster keeps no accounts, and nothing depends on them.
    assert of(found, "slurm.accounting").status == "warning"
    slurm.wait_for(slurm.has_no_job, "the probes had ended")


def test_a_path_that_one_node_lacks_is_told_of_that_node(doctor, tmp_path, hide_on_n2):
    hide_on_n2(tmp_path / "data")
    found = doctor("--partition", "cpu")
    movie = tmp_path / "data" / "labels.ome.tif"
    (difference,) = [one for one in found.differences if one.check == f"disk.path.{movie}"]
    assert difference.nodes == ("n2",)
    assert difference.finding.sentence == f"{movie} is missing (no such file or directory)"
    assert difference.usual.sentence.startswith(f"{movie} is there")


@pytest.mark.slow
def test_a_node_that_does_not_see_the_runs_is_given_up(doctor, tmp_path, hide_on_n2):
    (tmp_path / "runs").mkdir()
    hide_on_n2(tmp_path / "runs")
    found = doctor("--partition", "cpu")
    assert [answer.node for answer in found.nodes] == ["n1"]
    lost = of(found, "node.n2")
    assert lost.status == "problem"
    assert "without an answer" in lost.sentence
    assert str(tmp_path / "runs") in lost.remedy


def test_a_bind_and_the_scratch_of_a_site_are_looked_for_on_the_nodes(doctor, tmp_path):
    site = tmp_path / "site.toml"
    site.write_text(
        'name = "mine"\nsummary = "a test"\nsetup = ["export REFERENCE=/no/such"]\n'
        'binds = ["$REFERENCE/genomes"]\nscratch = "/proc/none/$SLURM_JOB_ID"\n'
        '[request]\npartition = "gpu"\ntime_min = 5\n'
    )
    found = doctor("--site", str(site))
    assert [answer.node for answer in found.nodes] == ["n2"]
    assert "/no/such/genomes is missing" in of(found, "disk.path./no/such/genomes").sentence
    scratch = of(found, "disk.site_scratch")
    assert scratch.status == "problem"
    assert re.search(r"/proc/none/\d+ cannot be written", scratch.sentence)


def test_a_drained_node_is_named_and_not_waited_for(doctor, slurm):
    slurm.drain("n1")
    found = doctor("--partition", "cpu")
    assert [answer.node for answer in found.nodes] == ["n2"]
    assert of(found, "node.n1").sentence == "n1 is drained (test) and was not checked"


@pytest.mark.slow
def test_a_busy_node_is_given_up_in_time_and_its_job_cancelled(doctor, slurm, busy):
    found = doctor("--partition", "cpu", "--wait", "0.5")
    assert [answer.node for answer in found.nodes] == ["n2"]
    assert "n1 has not answered in 0.5 min (job: pending" in of(found, "node.n1").sentence
    slurm.wait_for(lambda: jobs(slurm) == busy, "the probe was cancelled")


def test_an_interruption_leaves_no_job_and_no_file(command, slurm, tmp_path, busy):
    process = command("--partition", "cpu")
    # The probe of n1 waits meanwhile, however late the signal comes.
    slurm.wait_for(lambda: any((tmp_path / "runs").glob("*/n2.log")), "the probe of n2 ran")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    assert "Traceback" not in err
    slurm.wait_for(lambda: jobs(slurm) == busy, "the probes were cancelled")
    assert list((tmp_path / "runs").iterdir()) == []


def test_an_interruption_of_a_submission_leaves_no_job(command, slurm, tmp_path, instead):
    """It comes when Slurm has the job and sbatch has not said yet which it is."""
    instead("sbatch", f'$real "$@" > {tmp_path}/job; kill -INT $PPID; cat {tmp_path}/job')
    process = command("--partition", "cpu")
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, err
    job = (tmp_path / "job").read_text().strip()
    assert slurm.wait_for_jobs(job) == {job: {"CANCELLED"}}


@pytest.mark.slow
def test_gpus_that_a_partition_declares_are_found_and_one_without_is_refused(doctor, slurm):
    found = doctor("--partition", "gpu", "--device", "cuda")
    assert "gpu:pretended:2" in of(found, "slurm.gpus.gpu").sentence
    # They are declared and are none: that is what running a kernel is for.
    assert of(found, "stage.contact.works").status == "problem"


def test_what_slurm_would_refuse_is_told_before_anything_is_submitted(doctor, tmp_path):
    site = tmp_path / "site.toml"
    site.write_text(
        'name = "mine"\nsummary = "a test"\n[request]\npartition = "cpu"\nmemory_gib = 4000\n'
    )
    found = doctor("--site", str(site))
    refused = of(found, "slurm.submission.contact")
    assert refused.status == "problem"
    assert "for its memory" in refused.sentence
    assert of(found, "node.n1").status == "problem"


def test_an_unknown_partition_is_one_sentence(command):
    process = command("--partition", "night")
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 2
    assert err == "error: unknown partition 'night': this cluster has cpu, gpu, urgent\n"
