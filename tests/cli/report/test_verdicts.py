"""The verdict on each stage, as the first screen of the page gives it."""

from __future__ import annotations

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


def test_where_one_worker_is_best_the_next_n_says_why():
    verdict = of_times(wall_s=[10.0, 9.0, 8.9])
    assert verdict.workers == 1
    assert verdict.speedup_at == 2


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


def test_whole_trials_tell_nothing_of_what_limits():
    verdict = of_times(wall_s=[10.0, 6.0])
    assert verdict.limit.sentence == "Not known: only whole trials were timed."


def test_a_single_n_has_neither_speedup_nor_limit():
    verdict = of_times(wall_s=[10.0])
    assert verdict.workers == 1
    assert verdict.speedup_at is None
    assert verdict.limit.sentence.startswith("Not known")


def test_a_stage_whose_trials_all_failed_has_no_n(new_run, results_from):
    builder = new_run().trial("track", [{"compute": 100.0}], failed=["w0"])
    (verdict,) = verdicts(results_from(builder))
    assert verdict.workers is None
    assert verdict.trust == "no"


def test_every_cause_has_a_short_name():
    assert CAUSES.keys() == NAMES.keys()
