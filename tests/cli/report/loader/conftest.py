"""Runs that loaded patches, made up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from madeuploader import ENTRIES
from madeuploaderrun import consuming, made_up
from pyscale.report.results import Results


@pytest.fixture(scope="session")
def unfed() -> Results:
    """Eight configurations on 1 and 2 ranks, six times; nobody told what training takes."""
    return made_up()


@pytest.fixture(scope="session")
def fed() -> Results:
    """The same beside training that takes 500 patches/s on each rank."""
    return made_up(consuming(500.0))


@pytest.fixture(scope="session")
def failing() -> Results:
    """The last configuration fails on every rank."""
    error = "a slide cannot be read: CMU-1.svs"
    return made_up([*ENTRIES[:-1], replace(ENTRIES[-1], error=error)])


@pytest.fixture(scope="session")
def beside() -> Results:
    """One configuration on one rank, and a stage that reads a movie at N = 1 and 2."""
    return made_up(ENTRIES[:1], ranks=(1,), pipeline=True)
