"""A validation stands first in the text, on the page, in the terminal, and in a file of its own."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from pyscale.report.markdown import write_markdown
from pyscale.report.page.write import write_page
from pyscale.report.results import Results
from pyscale.report.terminal import summary_of
from pyscale.report.validation.sentences import headline, sentences
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


def test_the_text_begins_with_the_verdict_and_has_every_measure(
    tmp_path: Path, validated: Results, wrong: ValidationFindings
) -> None:
    text = write_markdown(tmp_path, validated).read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings[0] == "## Validation"
    assert f"**{headline(wrong)}**" in text
    assert "| segment | wrong | ap | 1 | 0.500 | 0.900 | 0.0100 | cells round |" in text
    assert "- software: numpy 2.0.2" in text


def test_the_page_tells_every_sentence(
    tmp_path: Path, validated: Results, wrong: ValidationFindings
) -> None:
    text = write_page(tmp_path, validated).read_text(encoding="utf-8")
    assert 'href="#validation"' in text
    assert headline(wrong) in text
    assert "segment: wrong: ap is 0.500" in text


def test_the_terminal_says_the_verdict_first(validated: Results, wrong: ValidationFindings) -> None:
    said = StringIO()
    Console(file=said, width=400).print(summary_of(validated))
    lines = said.getvalue().splitlines()
    assert lines[0].strip() == headline(wrong)
    assert [line.strip() for line in lines[1:4]] == [f"- {one}" for one in sentences(wrong)]


def test_the_file_holds_all_numbers_and_goes_with_the_validation(
    tmp_path: Path, thin: Results, validated: Results
) -> None:
    (path,) = write_validation(tmp_path, validated)
    told = json.loads(path.read_bytes())
    assert told["verdict"] == "wrong"
    assert told["stages"][0]["measures"][0]["value"] == 0.5
    assert write_validation(tmp_path, thin) == []
    assert not path.exists()


def test_a_report_without_one_has_no_such_section(tmp_path: Path, thin: Results) -> None:
    assert "## Validation" not in write_markdown(tmp_path, thin).read_text(encoding="utf-8")
    assert 'id="validation"' not in write_page(tmp_path, thin).read_text(encoding="utf-8")
