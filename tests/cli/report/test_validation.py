"""Every sentence on a validation follows from its verdicts and numbers, which a file holds."""

import json
from dataclasses import replace

import pytest

from atleastone import some
from pyscale.report.validation import headline, sentences, write_validation
from pyscale.validation.judging import MeasuredEntry, judged
from validated import FED_BY, OTHER, expected_of_two, found_of, gave, trial

RIGHT = "This installation computes what it should:"
THEIRS = "the reference installation"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            found_of(),
            f"{RIGHT} segment and track give the same bytes as {THEIRS}.",
        ),
        # Bytes are told from tolerance.
        (
            found_of(track=[trial(sha256=OTHER)]),
            f"{RIGHT} segment gives the same bytes as {THEIRS} and track gives results within "
            "tolerance of it.",
        ),
        (
            found_of(segment=[trial(sha256=OTHER)], track=[trial(sha256=OTHER)]),
            f"{RIGHT} segment and track give results within tolerance of {THEIRS}.",
        ),
        (
            found_of("the seed is 3 instead of 0"),
            "Validation without a verdict: the seed is 3 instead of 0.",
        ),
    ],
    ids=["same bytes", "one within tolerance", "both within tolerance", "other data"],
)
def test_the_headline_tells_what_the_installation_computes(found, said):
    assert headline(found) == said


def test_the_headline_names_what_was_left_out():
    measured = gave()
    del measured["track"]
    found = judged(expected_of_two(), measured, FED_BY)
    assert headline(found).endswith("Not validated: track.")
    assert "track: left out: not requested." in sentences(found)


@pytest.mark.parametrize(
    ("segment", "told"),
    [
        (trial(ap=float("nan")), ["ap has no value at N = 1"]),
        (
            trial(2, same=False),
            ["segment: wrong: at N = 2 its output disagrees with the run's own baseline."],
        ),
        (
            trial(sha256=OTHER, objects=99),
            [
                "segment: within tolerance: out.tif differs from the ref",
                "ap is 0.900, expected 0.900 \u00b1 0.0100",
                "objects is 99.0, expected 100 \u00b1 1.00",
            ],
        ),
    ],
    ids=["no number", "disagreement", "other bytes"],
)
def test_what_was_found_of_a_stage_is_told_with_its_numbers(segment, told):
    said = sentences(found_of(segment=[trial(), segment] if segment.workers > 1 else [segment]))[0]
    assert all(one in said for one in some(told))


def test_what_did_not_run_is_told_with_its_reason():
    measured = gave() | {"track": MeasuredEntry([], "track-n1-b1/w0 failed: no laptrack.")}
    found = judged(expected_of_two(), measured, FED_BY)
    said = "Validation without a verdict: track gave no output"
    assert headline(found).startswith(said)
    assert "track: not run: track-n1-b1/w0 failed: no laptrack." in sentences(found)


def test_a_trial_that_failed_beside_right_ones_is_told():
    measured = gave() | {"track": MeasuredEntry([trial(), trial()], "track-n1-b3/w0 failed: full")}
    said = sentences(judged(expected_of_two(), measured, FED_BY))[1]
    assert said == (
        "track: identical: 2 trials gave the same bytes as the reference installation. Not every "
        "trial was judged: track-n1-b3/w0 failed: full."
    )


def test_the_file_holds_all_numbers_and_goes_with_the_validation(tmp_path, thin):
    wrong = replace(thin, validation=found_of(segment=[trial(ap=0.5)]))
    (path,) = write_validation(tmp_path, wrong)
    told = json.loads(path.read_bytes())
    assert told["verdict"] == "wrong"
    assert told["stages"][0]["measures"][0]["value"] == 0.5
    assert write_validation(tmp_path, thin) == []
    assert not path.exists()
