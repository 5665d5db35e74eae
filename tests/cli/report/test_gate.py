import polars as pl

from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.sentences import not_to_be_trusted
from refusals import assert_said


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
