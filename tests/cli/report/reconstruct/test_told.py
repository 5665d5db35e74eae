"""Answers and sentences on reconstruction over ranks."""

from dataclasses import replace

import polars as pl
import pytest

from drawn import layers
from madeupreconstruct import ENTRIES, Entry, made_up, reconstruction
from pyscale.analysis.ranks.reconstruct import ReconstructFindings, reconstruct_findings
from pyscale.references.files import all_references
from pyscale.references.matchingranks import matching_reconstruct
from pyscale.report.figures import component_shares, components
from pyscale.report.kinds import sections_of


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


def test_ranks_that_compute_something_else_are_not_to_be_trusted():
    wrong = changed(
        ENTRIES[:1],
        gate_gradient=pl.when(pl.col("workers") == 4).then(1e-3).otherwise("gate_gradient"),
    )
    *_, agrees, _ = answers_of(wrong, "Colour deblurring, 256 px")
    assert agrees.startswith(
        "Agrees: No with one rank (N = 4): largest deviation 0.00100 (gradient)"
    )
    verdict = verdict_of(wrong, "Colour deblurring, 256 px")
    assert verdict.trust == "no"
    assert verdict.reasons[0] == "the result differs from what it must equal"


def test_what_was_not_compared_says_why():
    why = "memory ran out for one rank alone"
    several = pl.col("workers") > 1
    not_compared = changed(
        ENTRIES[:1],
        **{f"gate_{name}": pl.lit(None, pl.Float64) for name in ("gradient", "interior", "border")},
        gate_why_not=pl.when(several).then(pl.lit(why)),
    )
    *_, agrees, _ = answers_of(not_compared, "Colour deblurring, 256 px")
    assert agrees == f"Agrees: Not compared with one rank (N = 2, 4 and 8); {why}."


def test_ranks_that_do_not_help_are_not_faster_and_one_is_asked_for():
    slow = [replace(ENTRIES[0], denoiser_s=0.01, communication_s=0.5)]
    faster, _, limit, request, *_ = answers_of(
        made_up(slow, ranks=(1, 2)), "Colour deblurring, 256 px"
    )
    assert faster.startswith("Faster: Not faster with more than 1 rank: ")
    assert limit.startswith("Holds back: Exchange of the gradient: with 2 ranks ")
    assert request.startswith("Request: 1 rank: no larger N has a larger speedup x efficiency, and")


def test_what_single_trials_ask_for_is_so_so_far_and_says_what_more_would_give():
    hardly = [replace(ENTRIES[0], gradient_s=0.8, denoiser_s=0.1545)]
    found = made_up(hardly, ranks=(1, 2), repeats=1)
    *_, request, _, _ = answers_of(found, "Colour deblurring, 256 px")
    assert request == (
        "Request: 1 rank so far: no larger N has a larger speedup x efficiency, and with 2 ranks "
        "it is 1.03 times as fast as with 1, efficiency 0.51."
    )


def test_what_margins_do_not_explain_is_left_to_the_denoiser_and_waiting_to_uneven_ranks():
    name = "Colour deblurring, 256 px"
    _, _, limit, *_ = answers_of(made_up(ENTRIES[:1], ranks=(1, 2), slowest=1.2), name)
    assert limit.startswith("Holds back: Denoiser: ")
    assert limit.endswith(" of the loss; margins of tiles explain 225 ms of it.")
    _, _, limit, *_ = answers_of(made_up(ENTRIES[:1], ranks=(1, 8), slowest=3.0), name)
    assert limit.startswith("Holds back: Waiting for other ranks: with 8 ranks ")
    assert limit.endswith("; the mean rank computes 0.47 times as long as the busiest.")


@pytest.mark.slow
def test_gains_beyond_the_ranks_and_within_chance_are_called_so():
    name = "Colour deblurring, 256 px"
    assert not any("chance" in said for said in answers_of(made_up(), name))
    share = pl.when(pl.col("workers") > 1).then(pl.col("gradient_s") / 20)
    _, scales, *_ = answers_of(changed(ENTRIES[:1], gradient_s=share.otherwise("gradient_s")), name)
    assert scales.startswith("Scales: Gradient best with 8 ranks: 20.00 times, efficiency 2.50; ")
    assert "; efficiency above 1 is beyond chance: a smaller share that fits caches" in scales
    # Of fewer trials there is no interval to ask.
    few = reconstruction(ENTRIES[:1], repeats=2).with_columns(
        gradient_s=share.otherwise("gradient_s")
    )
    told = replace(made_up(ENTRIES[:1]), kinds=(reconstruct_findings(few),))
    _, scales, *_ = answers_of(told, name)
    assert "; efficiency above 1 may be chance, or " in scales
    hardly = made_up([replace(ENTRIES[0], gradient_s=0.01)], ranks=(7, 8), scatter=0.2)
    *_, request, _, _ = answers_of(hardly, name)
    assert ", possibly by chance; " in request


def test_where_every_trial_failed_the_answer_is_its_error():
    failing = made_up([replace(ENTRIES[0], error="rank 1 on node1 died")], ranks=(2,))
    name = "Colour deblurring, 256 px"
    (said,) = answers_of(failing, name)
    assert said.startswith("Faster: Unknown: no trial counts; its error: rank 1 on node1 ")
    assert verdict_of(failing, name).trust == "no"
    (failed,) = section(failing).blocks[0].said
    assert failed.startswith(f"{name} at N = 2 failed: rank 1 on node1 ")


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


def test_one_rank_alone_has_a_figure_in_one_column_too():
    alone = made_up(ENTRIES[:1], ranks=(1,), repeats=1)
    (marks, *_) = layers(components(alone, width_mm=88), "geom_point")
    bars, *_ = layers(component_shares(alone, width_mm=88), "geom_col")
    assert set(marks.data["workers"]) == set(bars.data["place"]) == {1}
