"""Another user's run is not gone on with: it would execute that user's commands."""

import os

import pytest

from pyscale.errors import UserError
from pyscale.store.folder import PLAN_FILE, RunFolder, find_run
from refusals import assert_refused

NOBODY = 65534


@pytest.fixture
def foreign(run):
    """A run whose plan another user wrote."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a run to another user: run as root")
    os.chown(run.path / PLAN_FILE, NOBODY, NOBODY)
    return run


@pytest.mark.parametrize("words", [("resume",), ("extend", "--repeats", "3")])
def test_it_is_refused(foreign, pyscale, words):
    assert_refused(pyscale(*words, foreign.path))
    os.chown(foreign.path / PLAN_FILE, 0, 0)
    os.chown(foreign.path, NOBODY, NOBODY)
    assert_refused(pyscale(*words, foreign.path))


def test_the_latest_run_is_the_latest_of_mine(foreign, make):
    runs = foreign.path.parent
    os.chown(foreign.path, NOBODY, NOBODY)
    with pytest.raises(UserError, match="no run of yours"):
        find_run(runs, "latest")
    own = RunFolder.create(runs, make().model_copy(update={"run_id": "20200101T000000Z-aaaa"}))
    assert find_run(runs, None).path == own.path
    # By its name it is found as ever.
    assert find_run(runs, foreign.path.name).path == foreign.path
