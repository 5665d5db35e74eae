"""Who went on with another user's run would execute its commands, and is refused."""

import os

import pytest

from pyscale.commands import running
from pyscale.errors import UserError
from pyscale.store.folder import PLAN_FILE, RunFolder, find_run

NOBODY = 65534


@pytest.fixture
def foreign(run):
    """A run of another user."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a run to another user: run as root")
    os.chown(run.path, NOBODY, NOBODY)
    return RunFolder(run.path)


@pytest.fixture
def carried_out(monkeypatch):
    """Names of the runs that were carried out."""
    found = []
    monkeypatch.setattr(running, "_carry_out", lambda run, **_: found.append(run.path.name) or 0)
    monkeypatch.setattr(running, "before_run", lambda *_, **__: None)
    return found


@pytest.mark.parametrize("words", [("resume",), ("extend", "--repeats", "3"), ("work",)])
def test_it_is_refused(foreign, carried_out, pyscale, words):
    answer = pyscale(*words, foreign)
    assert (answer.code, carried_out) == (2, [])
    assert "belongs to nobody" in answer.err


def test_a_plan_that_another_user_wrote_into_my_folder_is_theirs(foreign):
    os.chown(foreign.path, 0, 0)
    assert foreign.other_owner is None
    os.chown(foreign.path / PLAN_FILE, NOBODY, NOBODY)
    assert foreign.other_owner == "nobody"


def test_the_latest_run_is_the_latest_of_mine(foreign, make):
    runs = foreign.path.parent
    with pytest.raises(UserError, match="no run of yours"):
        find_run(runs, "latest")
    own = RunFolder.create(runs, make().model_copy(update={"run_id": "20200101T000000Z-aaaa"}))
    assert find_run(runs, None).path == own.path
    # By its name it is found as ever.
    assert find_run(runs, foreign.path.name).path == foreign.path
