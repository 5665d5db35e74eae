"""A validation stands first in the text, on the page, in the terminal, and in a file of its own."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pyscale.report.results import Results
from pyscale.report.validation.text import write_validation
from pyscale.validation.findings import ValidationFindings
from validated import found_of, trial


@pytest.fixture(scope="module")
def wrong() -> ValidationFindings:
    """An installation whose segmentation is wrong."""
    return found_of(segment=[trial(ap=0.5)])


@pytest.fixture
def validated(thin: Results, wrong: ValidationFindings) -> Results:
    """What a report of it shows."""
    return replace(thin, validation=wrong)


def test_the_file_holds_all_numbers_and_goes_with_the_validation(tmp_path, thin, validated):
    (path,) = write_validation(tmp_path, validated)
    told = json.loads(path.read_bytes())
    assert told["verdict"] == "wrong"
    assert told["stages"][0]["measures"][0]["value"] == 0.5
    assert write_validation(tmp_path, thin) == []
    assert not path.exists()
