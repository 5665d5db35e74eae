"""Runs that loaded patches, made up."""

import pytest

from madeuploader import ENTRIES
from madeuploaderrun import made_up


@pytest.fixture(scope="session")
def unfed():
    """Eight configurations on 1 and 2 ranks, six times; nobody told what training takes."""
    return made_up()


@pytest.fixture(scope="session")
def beside():
    """One configuration on one rank, and a stage that reads a movie at N = 1 and 2."""
    return made_up(ENTRIES[:1], ranks=(1,), pipeline=True)
