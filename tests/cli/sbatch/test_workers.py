"""The script by which workers share one node, with a task that says where it runs."""

import os
import shutil
import subprocess
from collections import Counter

import pytest

from programs import put_program
from pyscale.planning.placement import local_placement
from pyscale.planning.sites import load_site
from renderedscripts import texts_for

TASK = """\
set -eu
number=$2
begun=$(date +%s%N)
sleep 0.3
cores=$(sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status)
echo "$number $begun $(date +%s%N) $cores ${CUDA_VISIBLE_DEVICES-none} ${3-}" >>told
[ ! -e "fails$number" ] || exit "$(cat "fails$number")"
"""


@pytest.fixture
def work(tmp_path):
    """Run tasks by workers; return the exit code, and what each task told."""
    (tmp_path / "workers.sh").write_text(texts_for(load_site("gridengine"))["workers.sh"])
    (tmp_path / "task.sh").write_text(TASK)

    def run(*words, **variables):
        done = subprocess.run(
            ["bash", "workers.sh", "task.sh", *map(str, words)],
            cwd=tmp_path,
            env=os.environ | {"TMPDIR": str(tmp_path)} | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        assert list(tmp_path.glob("pyscale.*")) == []
        told = [line.split() for line in (tmp_path / "told").read_text().splitlines()]
        return done.returncode, {int(number): rest for number, *rest in told}

    return run


def most_at_once(told):
    """How many tasks ran at one moment, at most."""
    moments = sorted(
        moment
        for begun, ended, *_ in told.values()
        for moment in ((int(begun), 1), (int(ended), -1))
    )
    running, most = 0, 0
    for _, step in moments:
        running += step
        most = max(most, running)
    return most


def test_each_task_runs_once_and_no_more_at_once_than_workers_each_on_a_core_of_its_own(work):
    code, told = work(4, 2, 1, 0)
    assert (code, sorted(told), most_at_once(told)) == (0, [0, 1, 2, 3], 2)
    on_core = Counter(cores for _, _, cores, *_ in told.values())
    if local_placement(1).most_workers >= 2:
        assert sorted(on_core.values()) == [2, 2]
        assert all(core.isdigit() for core in on_core)


def test_where_cores_are_too_few_or_cannot_be_bound_none_is(work, tmp_path, monkeypatch):
    everywhere = work(1, 1, len(os.sched_getaffinity(0)) + 1, 0)[1][0][2]
    for program in ("sed", "tr", "cat", "seq", "mktemp", "mkdir", "rm", "bash", "date", "sleep"):
        put_program(tmp_path / "few", program, f'exec {shutil.which(program)} "$@"')
    monkeypatch.setenv("PATH", str(tmp_path / "few"))
    assert work(1, 1, 1, 0)[1][0][2] == everywhere


def test_the_first_that_fails_says_how_all_ended_and_the_others_run(work, tmp_path):
    (tmp_path / "fails1").write_text("3")
    (tmp_path / "fails2").write_text("2")
    code, told = work(4, 1, 1, 0)
    assert (code, sorted(told)) == (3, [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("given", "own"),
    [({}, {"0,1", "2,3"}), ({"CUDA_VISIBLE_DEVICES": "4,5,6,7"}, {"4,5", "6,7"})],
)
def test_each_worker_sees_gpus_of_its_own(work, monkeypatch, given, own):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    _, told = work(2, 2, 1, 2, **given)
    assert {gpus for _, _, _, gpus, *_ in told.values()} == own


def test_ranks_have_one_meeting_and_are_told_there_who_failed(work, tmp_path):
    (tmp_path / "fails1").write_text("3")
    meetings = tmp_path / "meet here"
    meetings.mkdir()
    code, told = work(2, 2, 1, 0, meetings)
    assert code == 3
    (name,) = {" ".join(rest[4:]) for rest in told.values()}
    (ended,) = meetings.iterdir()
    assert str(ended) == f"{name}.ended"
    assert ended.read_text() == "rank 1 ended (exit code 3)\n"
