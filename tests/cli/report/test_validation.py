"""Every sentence on a validation follows from its verdicts and numbers, which a file holds."""

import json
from dataclasses import replace

from pyscale.report.sentences import validated
from pyscale.report.write import write_validation
from pyscale.validation.judging import MeasuredEntry, judged
from refusals import assert_said
from validated import OTHER, expected_of_two, found_of, gave, trial


def test_the_headline_tells_what_the_installation_computes():
    for found in (
        found_of(),
        # Bytes are told from measures in bounds.
        found_of(track=[trial(sha256=OTHER)]),
        found_of(segment=[trial(sha256=OTHER)], track=[trial(sha256=OTHER)]),
        found_of("the seed is 3 instead of 0"),
    ):
        assert_said(validated(found)[0])


def test_what_was_found_of_a_stage_is_told_with_its_numbers():
    for trials in (
        [trial(ap=float("nan"))],
        [trial(), trial(2, same=False)],
        [trial(sha256=OTHER, objects=99)],
    ):
        assert_said(validated(found_of(segment=trials))[1][0])


def test_what_was_left_out_did_not_run_or_failed_once_is_told():
    left_out = {"segment": gave()["segment"]}
    not_run = gave() | {"track": MeasuredEntry([], "track-n1-b1/w0 failed: no laptrack.")}
    once = gave() | {"track": MeasuredEntry([trial(), trial()], "track-n1-b3/w0 failed: full")}
    for measured in (left_out, not_run, once):
        found = judged(expected_of_two(), measured)
        headline, (_, reason) = validated(found)
        assert_said(headline, reason)


def test_the_file_holds_all_numbers_and_goes_with_the_validation(tmp_path, thin):
    wrong = replace(thin, validation=found_of(segment=[trial(ap=0.5)]))
    (path,) = write_validation(tmp_path, wrong)
    told = json.loads(path.read_bytes())
    assert told["verdict"] == "wrong"
    assert told["stages"][0]["beyond"] == ["ap is 0.5 at N = 1, expected at least 0.89"]
    assert write_validation(tmp_path, thin) == []
    assert not path.exists()
