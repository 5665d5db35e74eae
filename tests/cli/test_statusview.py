"""`pyscale status` in a pipe: one table, at the end, with the advice that fits."""

from __future__ import annotations

import threading

import pytest

from pyscale import statusview
from pyscale.benchmark import execute
from pyscale.executors.mock import MockExecutor
from pyscale.store.folder import RunFolder


def test_a_run_that_only_waits_to_begin_is_not_to_be_resumed(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    statusview.show(str(run.path), watch=False, as_json=False, log=False)
    out = capsys.readouterr().out
    assert "planned" in out
    assert "--resume" not in out


def test_following_into_a_pipe_prints_one_table_when_the_run_has_ended(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    following = threading.Thread(
        target=statusview.show,
        args=(str(run.path),),
        kwargs={"watch": True, "as_json": False, "log": False},
        daemon=True,
    )
    following.start()
    execute(run, MockExecutor(), lambda _event: None)
    following.join(timeout=30)
    assert not following.is_alive()
    out = capsys.readouterr().out
    assert out.count(run.plan.run_id) == 1
    assert "complete" in out
    assert out.endswith("\n")
