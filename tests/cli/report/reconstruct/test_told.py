"""Answers and sentences on reconstruction over ranks."""

from dataclasses import replace

import polars as pl
import pytest

from madeupreconstruct import ENTRIES, Entry, made_up, reconstruction
from pyscale.analysis.ranks.reconstruct import ReconstructFindings, reconstruct_findings
from pyscale.references.files import all_references
from pyscale.references.matching import matching_reconstruct
from pyscale.report.kinds import sections_of
from refusals import assert_said


def section(results):
    (found,) = sections_of(results)
    return found


def answers_of(results, name):
    return [answer.text for answer in verdict_of(results, name).answers]


def verdict_of(results, name):
    return next(one for one in section(results).answered if one.name == name)


def changed(entries=ENTRIES, **columns):
    """Results of a run whose table has other values in some columns."""
    results = made_up(entries)
    table = reconstruction(entries).with_columns(**columns)
    return replace(results, kinds=(reconstruct_findings(table),))


NAME = "Colour deblurring, 256 px"


def test_ranks_that_compute_something_else_are_not_to_be_trusted():
    wrong = changed(
        ENTRIES[:1],
        gate_gradient=pl.when(pl.col("workers") == 4).then(1e-3).otherwise("gate_gradient"),
    )
    verdict = verdict_of(wrong, NAME)
    assert verdict.trust == "no"
    assert_said(answers_of(wrong, NAME)[-2], *verdict.reasons)


def test_what_was_not_compared_says_why():
    several = pl.col("workers") > 1
    not_compared = changed(
        ENTRIES[:1],
        **{f"gate_{name}": pl.lit(None, pl.Float64) for name in ("gradient", "interior", "border")},
        gate_why_not=pl.when(several).then(pl.lit("memory ran out for one rank alone")),
    )
    assert_said(answers_of(not_compared, NAME)[-2])


def test_answers_follow_from_what_ranks_gain_and_what_holds_them_back():
    slow = [replace(ENTRIES[0], denoiser_s=0.01, communication_s=0.5)]
    hardly = [replace(ENTRIES[0], gradient_s=0.8, denoiser_s=0.1545)]
    for results in (
        # Ranks that do not help are not faster, and one is asked for.
        made_up(slow, ranks=(1, 2)),
        # What single trials ask for is so so far, and says what more would give.
        made_up(hardly, ranks=(1, 2), repeats=1),
        # What margins do not explain is left to the denoiser, and waiting to uneven ranks.
        made_up(ENTRIES[:1], ranks=(1, 2), slowest=1.2),
        made_up(ENTRIES[:1], ranks=(1, 8), slowest=3.0),
    ):
        assert_said(*answers_of(results, NAME)[:4])


@pytest.mark.slow
def test_gains_beyond_the_ranks_and_within_chance_are_called_so():
    assert not any("chance" in said for said in answers_of(made_up(), NAME))
    share = pl.when(pl.col("workers") > 1).then(pl.col("gradient_s") / 20)
    beyond = changed(ENTRIES[:1], gradient_s=share.otherwise("gradient_s"))
    # Of fewer trials there is no interval to ask.
    few = reconstruction(ENTRIES[:1], repeats=2).with_columns(
        gradient_s=share.otherwise("gradient_s")
    )
    told = replace(made_up(ENTRIES[:1]), kinds=(reconstruct_findings(few),))
    assert_said(answers_of(beyond, NAME)[1], answers_of(told, NAME)[1])
    hardly = made_up([replace(ENTRIES[0], gradient_s=0.01)], ranks=(7, 8), scatter=0.2)
    assert ", possibly by chance; " in answers_of(hardly, NAME)[3]


def test_where_every_trial_failed_the_answer_is_its_error():
    failing = made_up([replace(ENTRIES[0], error="rank 1 on node1 died")], ranks=(2,))
    assert verdict_of(failing, NAME).trust == "no"
    assert_said(*answers_of(failing, NAME), *section(failing).blocks[0].said)


@pytest.fixture
def published(tmp_path):
    """What is published beside entries at some N, as tables of the page."""
    known = list(all_references(tmp_path).values())

    def beside(entries, ranks):
        results = made_up(entries, ranks=ranks, repeats=1)
        found = matching_reconstruct(known, results.of(ReconstructFindings).points)
        told = section(replace(results, beside={"reconstruct": found})).published
        return [(shown["title"], shown["table"].header, shown["table"].texts) for shown in told]

    return beside


def test_published_speedups_stand_beside_the_same_problem_size_and_ranks(published):
    volume = Entry("volume", "volume", "tomography_3d", 256)
    ((title, columns, rows),) = published([volume], (1, 2))
    assert title == "DeepInverse, published speedups"
    assert "Here" not in columns
    assert [row[:5] for row in rows] == [
        ["Tomography in 3D, 512 px", "iteration", "16, over 2", "7.44 times", "93 %"]
    ]
    large = replace(ENTRIES[0], size_px=1024)
    (_, columns, rows), (v100, *_) = published([large], (1, 16))
    assert (columns[-1], v100) == ("Here", "DeepInverse on V100 GPUs")
    assert [row[-1] for row in rows] == ["10.24", "-"]
    # Published times have the ranks that were measured here.
    *_, (_, columns, rows) = published(ENTRIES[:1], (1, 4))
    assert "Here" not in columns
    assert {row[2] for row in rows} == {"4, over 1", "4, over 2"}
    assert ["2048 px", "iteration", "4, over 1", "2.30 times", "58 %", "90 %"] in rows
