"""Emitted scripts under a real Grid Engine: they compute what `pyscale run` computes."""

import json
import re

import psutil
import pytest

from forkedtasks import forked_tasks
from gridengine.daemons import say, wait_for
from pyscale.planning.placement import local_placement
from waitingforruns import only_run

pytestmark = pytest.mark.slow


@pytest.fixture
def emit(pyscale, words, home):
    """Write scripts of contacts at N = 1 and 2 into a folder with a blank in its name."""

    def write(*more):
        given = [*words[: words.index("--repeats")], "--site", words[-1], *more]
        assert pyscale(*given, "--emit", "written").code == 0
        # Scripts go by where they are submitted from, not by where they were written.
        return (home / "written").rename(home / "moved to the cluster")

    return write


@pytest.fixture
def scripts(emit):
    return emit()


def submitted(scripts):
    """Id of the job that runs all scripts of a folder."""
    return re.findall(r"Your job (\d+)", say(scripts / "submit.sh"))[0]


def exit_code(job):
    """With what a job ended, once the accounts know."""

    def found():
        return re.search(r"exit_status +(\d+)", say("qacct", "-j", job, check=False))

    wait_for(found, f"job {job} had ended")
    return int(found()[1])


def outputs(folder):
    """Every file of every output below a folder, by configuration, task and name."""
    return {
        "/".join(file.relative_to(folder).parts).replace("-b1/", "/"): file.read_bytes()
        for file in folder.glob("*/*/out/*")
    }


def at_work(scripts):
    """Processes that read or write in a folder of scripts."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(str(scripts) in word for word in process.info["cmdline"] or ())
    ]


def record(task):
    return json.loads((task / "result.json").read_text())


def test_one_job_computes_the_same_bytes_as_a_run_each_worker_on_a_core_of_its_own(
    pyscale, words, scripts
):
    assert exit_code(submitted(scripts)) == 0
    assert (scripts / "all.log").read_text().splitlines() == [
        f"contact-{script}: done" for script in ("n1/windows.sh", "n2/windows.sh", "n2/merge.sh")
    ]
    with forked_tasks():
        here = pyscale(*words[: words.index("--executor")])
    assert here.code == 0, here
    expected, found = outputs(only_run().path / "tasks"), outputs(scripts)
    assert len(found) >= 6
    assert found == {name: expected[name] for name in found}
    cores = [record(scripts / "contact-n2" / w)["stamp"]["cpu"]["affinity"] for w in ("w0", "w1")]
    if local_placement(1).most_workers >= 2:
        assert sorted(map(len, cores)) == [1, 1]
        assert cores[0] != cores[1]


def test_the_job_ends_as_the_stage_that_failed_and_runs_what_does_not_need_it(scripts):
    (scripts / "contact-n2" / "params.json").write_text('{"nonsense": 1}')
    assert exit_code(submitted(scripts)) == 2
    assert (scripts / "all.log").read_text().splitlines() == [
        "contact-n1/windows.sh: done",
        "contact-n2/windows.sh: exit code 2",
        "contact-n2/merge.sh: left out, because contact-n2 failed",
    ]
    for worker in ("w0", "w1"):
        assert "nonsense" in record(scripts / "contact-n2" / worker)["error"]["message"]
    assert "nonsense" in (scripts / "contact-n2" / "logs" / "windows-1.log").read_text()


def test_a_script_is_a_job_of_its_own_too(scripts, monkeypatch):
    monkeypatch.chdir(scripts)
    job = re.findall(r"Your job (\d+)", say("qsub", "contact-n2/windows.sh"))[0]
    assert exit_code(job) == 0
    assert record(scripts / "contact-n2" / "w1")["status"] == "done"


def test_nodes_need_the_image_alone(emit, with_image, monkeypatch):
    images = with_image("contact")
    monkeypatch.setenv("PYSCALE_IMAGES_FOLDER", str(images.path))
    scripts = emit("--runtime", "apptainer")
    assert exit_code(submitted(scripts)) == 0
    inside = record(scripts / "contact-n2" / "w1")
    assert inside["status"] == "done"
    assert inside["stamp"]["image_sha256"] in (scripts / "images.sha256").read_text()


def test_a_job_that_is_ended_leaves_nothing(held, emit):
    scripts = emit()
    job = submitted(scripts)
    wait_for(lambda: at_work(scripts), "the first task stood still")
    say("qdel", job)
    wait_for(lambda: not at_work(scripts), "all had ended")
    held.let_go()
