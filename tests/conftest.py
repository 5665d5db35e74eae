"""Fixtures that every test may use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
REQUIRE_PARTS = "PYSCALE_TEST_REQUIRE_ALL"
"""Set where a missing part must fail a test instead of skipping it, as in CI."""


def missing(part: str, how_to_get_it: str) -> None:
    """Skip the test because a part is absent, or fail where every part must be there."""
    sentence = f"{part} is absent: {how_to_get_it}"
    if os.environ.get(REQUIRE_PARTS):
        pytest.fail(sentence)
    pytest.skip(sentence)


@pytest.fixture(scope="session", name="missing")
def missing_fixture() -> Callable[[str, str], None]:
    """Call with the name of an absent part and the way to get it."""
    return missing


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real microscopy beside the checkout."""
    folder = SHARED / "data"
    if not folder.is_dir():
        missing("real microscopy", "put the datasets' folders into ../shared/data")
    return folder


@pytest.fixture(scope="session")
def references() -> Path:
    """Folder of published figures beside the checkout."""
    folder = SHARED / "references"
    if not folder.is_dir():
        missing("published figures", "put their tables into ../shared/references")
    return folder
