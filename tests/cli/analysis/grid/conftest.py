"""Grids that tests build."""

import pytest

from gridbuilder import GridBuilder


@pytest.fixture
def grid():
    """A grid without any trial."""
    return GridBuilder()
