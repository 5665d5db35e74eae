"""Sentences of a report: as sure as their numbers, and in stored words."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest

from atleastone import some
from madeupadvice import cause, limits
from pyscale.analysis.laws import CurveFits, fit
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.evaluation.results import analysed
from pyscale.report.advice import doubts
from pyscale.report.context import ReportContext, Work
from pyscale.report.curves import curves
from pyscale.report.dictionary import labels
from pyscale.report.page.tables import right
from pyscale.report.sentences import (
    assumed_strong,
    laws,
    missed,
    not_to_be_trusted,
    scaled_work,
    speedup_title,
    validated,
)
from pyscale.report.sentences import limits as of_several
from pyscale.report.write import write_validation
from pyscale.validation.judging import MeasuredEntry, judged
from refusals import assert_said
from validated import OTHER, expected_of_two, found_of, gave, trial

SHORT = labels("causes")
START_UP = cause("start-up", 0.93, 0.998, gain=0.32, seconds=12.5)
READING = cause("reading", 0.91, 0.002, gain=0.30, seconds=12.1)
GREW = cause("work-inflation", 0.9, 1, gain=0.29, seconds=12)
BUSY = cause("busy", 0.786, None, gain=0.564, seconds=225)
TASKS = {"efficiency": 0.222, "inflation": 3.546, "not_measured": ("contention",)}

limits_of = partial(limits, inflation=1.31, cpu_growth=1.28)


def told(*causes, **changed):
    return list(of_several([limits_of(*causes, **changed)]))


def test_a_cause_is_put_as_likely_as_it_is():
    # A share short of sure is not rounded up to it.
    for share, rest in ((0.998, 0.002), (0.9, 0.1), (0.9496, 0.0504), (0.6, 0.4), (None, None)):
        found = told(
            START_UP.model_copy(update={"share_first": share}),
            READING.model_copy(update={"share_first": rest}),
        )
        assert len(found) == 1
        assert_said(*found)


def test_without_a_main_cause_the_largest_is_given_with_what_it_costs():
    for largest, efficiency in (
        (cause("imbalance", 0.99, 0.7, gain=0.01), 0.98),
        # A loss of many small causes.
        (cause("reading", 0.52, 0.7), 0.5),
        (cause("reading", 1.0, 0.7, gain=0.0, seconds=0.0), 1.0),
    ):
        assert_said(*told(largest, efficiency=efficiency))


def test_growth_is_told_by_what_is_known_of_processor_time():
    for cpu_growth in (1.28, 1.02, None):
        assert_said(*told(GREW, cpu_growth=cpu_growth))
    # Whole tasks cannot tell their phases apart.
    assert_said(*told(BUSY, **TASKS))


def test_a_wait_that_was_not_measured_is_said_and_what_stands_beside_is_told_with_its_n():
    *_, unmeasured = told(START_UP, READING, not_measured=("contention",))
    assert_said(unmeasured, told(START_UP, READING, gpu_use=0.07)[-1])


def test_wall_times_alone_name_no_cause_and_what_is_true_of_several_n_is_said_once():
    of_cause = limits_of(START_UP, workers=8)
    several = [limits_of(workers=workers, not_measured=tuple(SHORT)) for workers in (2, 4)]
    first, *rest = of_several([*several, of_cause])
    assert rest == list(of_several([of_cause]))
    assert_said(*told(not_measured=tuple(SHORT)), first)


def test_every_cause_has_its_words():
    for code in some(SHORT):
        assert_said(*told(START_UP.model_copy(update={"code": code})))


EIGHT = [1, 2, 4, 8, 16, 32, 64, 128]
FOUR = [1, 2, 4, 8]


def laws_of(counts, *, sigma=0.0, kappa=0.0, noise=0.0):
    """Both sentences of a curve by the universal scalability law."""
    n = np.asarray(counts, dtype=float)
    scatter = np.random.default_rng(0).lognormal(0, noise, len(n)) if noise else 1.0
    wall_s = (1000 / n * (1 + sigma * (n - 1) + kappa * n * (n - 1)) * scatter).tolist()
    fits = {law: fit(law, counts, wall_s) for law in ("amdahl", "usl")}
    return laws(CurveFits(suite=None, stage="a", device=None, **fits))


def test_each_number_is_put_as_sure_as_it_is():
    for counts, law in (
        # All is told from 0.
        (EIGHT * 3, {"sigma": 0.05, "kappa": 0.005, "noise": 0.02}),
        # What noise hides is not distinguishable, and gives none.
        (FOUR * 6, {"sigma": 0.05, "noise": 0.03}),
        # An interval may reach past the measured N, and a law miss beyond the scatter.
        ([*range(1, 9)] * 2, {"sigma": 0.1, "kappa": 0.015, "noise": 0.03}),
        # A wide interval comes before the estimate.
        ([1, 2, 4, 8, 16], {"sigma": 0.05, "kappa": 0.003, "noise": 0.05}),
        # Too few counts give no fit.
        ([1, 2] * 6, {"sigma": 0.05, "noise": 0.01}),
        ([1, 2, 4] * 6, {"sigma": 0.05, "noise": 0.01}),
    ):
        assert_said(*laws_of(counts, **law))
    # A miss of rounding alone is not told in digits.
    assert "misses the mean wall times by at most 0.01 % (N = " in laws_of(EIGHT, sigma=0.05)[0]


def test_the_published_table_is_fitted_or_refused(references):
    trials = trials_from_wall_times(pl.read_csv(references / "pycyto_horizontal_scaling.csv"))
    results = analysed(trials, ReportContext(title="pyCyto"), interleaved=False)
    for found in some(results.fits):
        assert_said(found.stage, *laws(found))


def said_of(new_run, *scores, **of_every):
    """What is said of track, of which N = 2 agrees by so much in each block."""
    told = {
        "agreement": lambda n, block: 1.0 if n == 1 else scores[block],
        "same": lambda n, block: n == 1 or scores[block] >= 0.999,
    }
    builder = new_run().curve("track", lambda n, _: 80.0 / n, blocks=len(scores), **told | of_every)
    return list(not_to_be_trusted(builder.configurations))


def test_the_sentence_names_stage_n_score_tolerance_and_measure(new_run):
    # A score just below the tolerance does not look like it, and one within has no sentence.
    for scores in ((1.0, 0.4, 0.9), (0.99899,)):
        assert_said(*said_of(new_run, *scores))
    assert said_of(new_run, 1.0, 0.9991) == []
    # A check that failed leaves it open.
    failed = {"agreement": None, "same": None, "check": "failed"}
    assert_said(*said_of(new_run, 1.0, counts=(1,), **failed))
    # Two devices of a stage are named apart.
    builder = new_run()
    for device, same in (("cpu", True), ("cuda", False)):
        builder.trial("segment", [{"compute": 1.0}], device=device, agreement=0.5, same=same)
    assert_said(*not_to_be_trusted(builder.configurations))


def test_doubts_of_other_kinds_are_no_reason_to_fail(thin):
    table = pl.DataFrame({"stage": "track", "workers": [1, 2], "wall_s": [9.0, 5.0]})
    for found in (thin.configurations, configurations(trials_from_wall_times(table))):
        assert found["flags"].list.len().min() > 0
        assert list(not_to_be_trusted(found)) == []


def with_work(full, **bounds):
    works = {"track": Work(data="hela-tracking", how="backend laptrack", **bounds)}
    context = ReportContext(title="a run", works=works)
    return replace(full, context=context)


def test_every_quality_stands_once_beside_data_algorithm_and_time(full):
    results = with_work(full, at_least={"link_recall": 0.9}, at_most={"error_px": 1})
    table = right(curves(results.configurations), results.context.works)
    rows = table.texts
    assert [row[0] for row in rows] == ["register_denoise", "segment", "contact", "track"]
    assert rows[-1][1:-1] == [
        "1",
        "hela-tracking",
        "backend laptrack",
        "link_precision 0.984, link_recall 0.991, split_recall 0.750",
        "link_recall >= 0.9, error_px <= 1",
    ]
    assert float(rows[-1][-1]) > 0


def test_a_measure_that_is_worse_than_asked_for_is_named(full):
    recall = "link_recall"
    for bounds, missing in (
        ({"at_least": {recall: 0.991}}, 0),
        ({"at_least": {recall: 0.992}}, 1),
        ({"at_most": {recall: 0.9}}, 1),
        # Each bound of a measure is its own.
        ({"at_least": {recall: 0.9}, "at_most": {recall: 1.0}}, 0),
        ({"at_least": {recall: 0.992}, "at_most": {recall: 1.0}}, 1),
        ({"at_least": {"ap": 0.5}}, 1),
    ):
        found = list(dict.fromkeys(missed(with_work(full, **bounds))))
        assert len(found) == missing
        assert_said(*found)


def curve_of(works):
    table = {"stage": "a", "workers": (1, 2, 4), "wall_s": [9.0, 9.0, 9.0], "work": works}
    trials = trials_from_wall_times(pl.DataFrame(table, strict=False))
    (curve,) = curves(configurations(trials))
    return curve


def test_work_that_is_neither_strong_nor_weak_or_not_known_is_told():
    mixed, in_part = curve_of([1.0, 1.5625, 1.5625]), curve_of([20.0, None, 80.0])
    assert_said(*scaled_work(mixed), *assumed_strong([in_part]))
    assert list(assumed_strong([mixed])) == []
    assert doubts([in_part]) == list(assumed_strong([in_part]))
    for works in ([80.0] * 3, [None] * 3):
        assert scaled_work(curve_of(pl.Series(works, dtype=pl.Float64))) == []


@pytest.mark.parametrize(
    ("works", "title"),
    [([80.0] * 3, "Speedup"), ([1.0, 2.0, 4.0], "Scaled speedup"), ([1, 2, 3], "Scaled speedup")],
)
def test_the_axis_of_a_figure_names_a_scaled_speedup(works, title):
    curve = curve_of(pl.Series(works, dtype=pl.Float64))
    assert speedup_title([curve]) == f"{title} over the baseline"


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
