"""The verdict on each stage, as the first screen of the page gives it."""

from __future__ import annotations

import pytest

from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.context import ReportContext
from pyscale.report.limits import NAMES
from pyscale.report.verdicts import CAUSES, verdicts
from pyscale.results import analysed

A_RUN = ReportContext(title="a run")


def of_times(**seconds):
    """Verdict on single trials at N = 1, 2 and so on, of which only the wall time is known."""
    import polars as pl

    rows = {"stage": "segment", "workers": range(1, len(seconds["wall_s"]) + 1), **seconds}
    return verdicts(analysed(trials_from_wall_times(pl.DataFrame(rows)), A_RUN, interleaved=False))[
        0
    ]


def test_every_stage_has_one_in_the_order_of_the_pipeline(full):
    names = [verdict.name for verdict in verdicts(full)]
    assert names == ["register_denoise", "segment", "contact", "track"]


def test_it_requests_the_n_at_the_knee_with_what_each_task_needs(full):
    for verdict in verdicts(full):
        choice = next(
            one for one in full.choices if one.objective == "knee" and one.stage == verdict.stage
        )
        assert verdict.workers == choice.workers
        assert verdict.request.sentence.startswith(f"N = {choice.workers}")
        assert verdict.request.rest.endswith("; each task 1 GiB, 5 min.")
    contact = next(verdict for verdict in verdicts(full) if verdict.name == "contact")
    assert contact.request.sentence == "N = 4; each task 1 GiB, 5 min."


def test_an_n_at_the_end_of_what_was_measured_says_so(full):
    segment = next(verdict for verdict in verdicts(full) if verdict.name == "segment")
    assert segment.request.sentence.startswith("N = 8, the largest measured;")


def test_the_speedup_is_that_of_the_requested_n_with_its_interval(full):
    for verdict in verdicts(full):
        (row,) = full.configurations.filter(stage=verdict.stage, workers=verdict.workers).to_dicts()
        assert verdict.speedup_at == verdict.workers
        assert (verdict.speedup_low, verdict.speedup, verdict.speedup_high) == (
            row["speedup_low"],
            row["speedup"],
            row["speedup_high"],
        )
        assert verdict.efficiency == row["efficiency"]
        assert verdict.over == "over N = 1"


def test_where_one_worker_is_best_the_next_n_says_why():
    verdict = of_times(wall_s=[10.0, 9.0, 8.9])
    assert verdict.workers == 1
    assert verdict.speedup_at == 2
    assert verdict.speedup == pytest.approx(10 / 9)
    assert verdict.over == "at N = 2 over N = 1"


def test_an_n_whose_output_is_wrong_is_shown_neither_as_a_speedup_nor_as_a_limit(
    new_run, results_from
):
    run = new_run()
    for block in range(6):
        for count, same in ((1, True), (2, False), (4, True)):
            compute_s = 1.0 if count == 2 else 9.0
            workers = [{"compute": compute_s + 0.01 * block}] * count
            run.trial("track", workers, block=block, agreement=1.0 if same else 0.1, same=same)
    (verdict,) = verdicts(results_from(run))
    assert (verdict.workers, verdict.speedup_at) == (1, 4)
    assert " at N = 4" in verdict.limit.sentence


def test_what_limits_comes_first_and_what_the_efficiency_would_be(full):
    segment = next(verdict for verdict in verdicts(full) if verdict.name == "segment")
    limits = next(one for one in full.limits if (one.stage, one.workers) == ("segment", 8))
    assert limits.main is not None
    assert segment.limit.head == "Start-up"
    assert segment.limit.rest == (
        f": efficiency {limits.efficiency:.2f}, without it {limits.main.efficiency:.2f}."
    )


def test_few_trials_are_told_as_seeming(thin):
    for verdict in verdicts(thin):
        assert " so far" in verdict.request.sentence
        assert "%" not in verdict.request.sentence
        if verdict.limit.head != "No single cause":
            assert ", it seems" in verdict.limit.sentence


def test_whole_trials_tell_nothing_of_what_limits():
    verdict = of_times(wall_s=[10.0, 6.0])
    assert verdict.limit.sentence == "Not known: only whole trials were timed."


def test_a_single_n_has_neither_speedup_nor_limit():
    verdict = of_times(wall_s=[10.0])
    assert verdict.request.sentence.startswith("N = 1, the only N with a valid output")
    assert verdict.speedup is None
    assert verdict.over == "None: there are no two N with valid outputs to compare."
    assert verdict.limit.sentence.startswith("Not known")


def test_a_stage_whose_trials_all_failed_has_no_n(new_run, results_from):
    builder = new_run().trial("track", [{"compute": 100.0}], failed=["w0"])
    (verdict,) = verdicts(results_from(builder))
    assert verdict.workers is None
    assert verdict.request.head == "No N is advised"
    assert verdict.trust == "no"


def test_an_undecided_choice_names_both():
    trials = []
    for block in range(6):
        # At N = 2 it is as often better than N = 1 as not.
        trials += [(1, 10.0 + block), (2, (10.0 + 5 - block) / 1.41)]
    verdict = of_trials(trials)
    assert verdict.request.head == f"N = {verdict.workers} or {3 - verdict.workers}"
    assert "undecided (" in verdict.request.rest


def of_trials(trials):
    import polars as pl

    table = pl.DataFrame(
        {
            "stage": ["segment"] * len(trials),
            "workers": [workers for workers, _ in trials],
            "wall_s": [wall_s for _, wall_s in trials],
            "repeat": [place // 2 for place in range(len(trials))],
        }
    )
    (verdict,) = verdicts(analysed(trials_from_wall_times(table), A_RUN, interleaved=False))
    return verdict


def test_every_cause_has_a_short_name():
    assert CAUSES.keys() == NAMES.keys()
