"""Who goes on with another user's run would execute its commands, and is told so first."""

import json
import os

import pytest

from pyscale.commands import running
from pyscale.commands.foreignrun import refuse_foreign
from pyscale.errors import UserError
from pyscale.store.folder import PLAN_FILE, RunFolder, find_run

NOBODY = 65534
COMMAND = ["sh", "-c", "id > stolen"]


@pytest.fixture
def foreign(run):
    """A run of another user, with a command and lines of set-up of theirs in its plan."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a run to another user: run as root")
    file = run.path / PLAN_FILE
    plan = json.loads(file.read_text())
    for trial in plan["trials"]:
        trial["params"]["command"] = COMMAND
    file.write_text(json.dumps(plan))
    os.chown(run.path, NOBODY, NOBODY)
    return RunFolder(run.path)


@pytest.fixture
def carried_out(monkeypatch):
    """Names of the runs that were carried out."""
    found = []
    monkeypatch.setattr(running, "_carry_out", lambda run, **_: found.append(run.path.name) or 0)
    monkeypatch.setattr(running, "before_run", lambda *_, **__: None)
    return found


@pytest.mark.parametrize("words", [("resume",), ("extend", "--repeats", "3")])
def test_it_is_refused_with_what_it_would_execute(foreign, carried_out, pyscale, words):
    answer = pyscale(*words, foreign)
    assert (answer.code, carried_out) == (2, [])
    assert "belongs to nobody" in answer.err
    assert "segment: command sh -c 'id > stolen'" in answer.err
    assert "--foreign" in answer.err


def test_it_goes_on_where_that_is_agreed_to(foreign, carried_out, pyscale):
    answer = pyscale("resume", "--foreign", foreign)
    assert (answer.code, carried_out) == (0, [foreign.path.name])
    assert "command sh -c 'id > stolen'" in answer.err


def test_a_plan_that_another_user_wrote_into_my_folder_is_theirs(foreign):
    os.chown(foreign.path, 0, 0)
    refuse_foreign(foreign, agreed=False)
    os.chown(foreign.path / PLAN_FILE, NOBODY, NOBODY)
    with pytest.raises(UserError, match="belongs to nobody"):
        refuse_foreign(foreign, agreed=False)


def test_the_latest_run_is_the_latest_of_mine(foreign, make):
    runs = foreign.path.parent
    with pytest.raises(UserError, match="no run of yours"):
        find_run(runs, "latest")
    own = RunFolder.create(runs, make().model_copy(update={"run_id": "20200101T000000Z-aaaa"}))
    assert find_run(runs, None).path == own.path
    # By its name it is found as ever.
    assert find_run(runs, foreign.path.name).path == foreign.path
