"""`pyscale status` in a pipe: one table, at the end, with the advice that fits."""

import json
import shutil
import threading

import pytest

from mockruns import carry_out, failing
from pyscale import statusview
from pyscale.errors import UserError
from pyscale.status import StatusReader
from pyscale.store.lock import run_lock


def show(run, *, watch=False, as_json=False, log=False):
    statusview.show(str(run.path), watch=watch, as_json=as_json, log=log)


def test_a_run_that_only_waits_to_begin_is_not_to_be_resumed(run, capsys):
    show(run)
    out = capsys.readouterr().out
    assert "planned" in out
    assert "--resume" not in out


def test_following_into_a_pipe_prints_one_table_when_the_run_has_ended(run, capsys):
    following = threading.Thread(target=show, args=(run,), kwargs={"watch": True}, daemon=True)
    following.start()
    carry_out(run)
    following.join()
    out = capsys.readouterr().out
    assert out.count(run.plan.run_id) == 1
    assert "complete" in out
    assert out.endswith("\n")


def test_leaving_a_run_that_is_followed_says_that_it_goes_on(run, capsys, monkeypatch):
    def interrupted(_reader):
        raise KeyboardInterrupt

    monkeypatch.setattr(StatusReader, "read", interrupted)
    with run_lock(run.path), pytest.raises(KeyboardInterrupt):
        show(run, watch=True)
    assert f"the run continues; end it with: pyscale cancel {run.path.name}" in (
        " ".join(capsys.readouterr().err.split())
    )


def test_following_a_run_whose_folder_goes_away_ends(run, monkeypatch):
    read = StatusReader.read
    told = []

    def deleted_at_the_second_look(reader):
        told.append(read(reader))
        if len(told) == 2:
            shutil.rmtree(run.path)
        return told[-1]

    monkeypatch.setattr(StatusReader, "read", deleted_at_the_second_look)
    with pytest.raises(UserError, match=f"the run {run.path.name} was moved or deleted"):
        show(run, watch=True)


def test_each_task_is_in_the_json(run, capsys):
    carry_out(run)
    show(run, as_json=True)
    trials = json.loads(capsys.readouterr().out)["trials"]
    (trial,) = (trial for trial in trials if trial["trial"] == "segment-n2-b1")
    assert [task["task"] for task in trial["tasks"]] == ["w0", "w1", "merge", "check"]
    for task in trial["tasks"]:
        assert task["state"] == "done"
        assert task["node"]
        assert task["job_id"] == f"segment-n2-b1/{task['task']}"
        assert task["elapsed_s"] >= 0


def test_a_failure_and_its_second_try_are_in_the_log(run, capsys):
    carry_out(run, failing("track-n2-b1", "w1"))
    show(run, log=True)
    lines = capsys.readouterr().out.splitlines()
    told = [line.partition(" UTC  ")[2] for line in lines if " track-n2-b1 " in line]
    assert told[0] == "track-n2-b1 started"
    assert "track-n2-b1 failed: w1: mock failure in w1" in told
    assert any(line.startswith("track-n2-b1 retried: attempt 2") for line in told)
    assert lines[-1].endswith("the run finished")
