import re

import polars as pl
import pytest

from asread import printed
from atleastone import some
from pyscale.analysis.comparison import comparison
from pyscale.planning.runfacts import Difference
from pyscale.report.comparison import (
    ComparisonContext,
    OutputComparison,
    conclusion,
    remarks,
)
from pyscale.report.comparisonview import shown
from pyscale.report.judged import judged, named, stage_name

CONTEXT = ComparisonContext(base="run a", new="run b", measured_here=True)


@pytest.fixture(scope="module")
def compared(full):
    """A pipeline of 16 configurations beside one that takes 1.3 times as long."""
    slower = full.trials.with_columns(wall_s=1.3 * pl.col("wall_s"))
    return judged(comparison(full.trials, slower))


def test_the_answer_is_one_sentence(compared, thin):
    told = conclusion(CONTEXT, compared)
    assert told == "New is slower for every configuration (1.30 times as long)."
    outputs = (OutputComparison(stage="track", found="same"),)
    alike = CONTEXT.model_copy(update={"outputs": outputs})
    assert conclusion(alike, compared).endswith(" Outputs: same bytes.")
    too_few = conclusion(CONTEXT, judged(comparison(thin.trials, thin.trials)))
    assert too_few == "Not enough data for any configuration, see --repeats."


def words(rows, **told):
    """What is shown of verdicts, as one line."""
    return " ".join(printed(shown(CONTEXT.model_copy(update=told), rows)).split())


def test_flags_of_both_sides_are_letters_that_the_lines_below_explain(thin):
    text = words(judged(comparison(thin.trials, thin.trials)))
    assert "not enough data (1) nwo / nwo" in text
    assert "1: Fewer than 6 timed trials in one of the two" in text
    assert "n few-repeats: Fewer than 6 timed trials" in text
    # Nothing was tested.
    assert "Mann-Whitney" not in text


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (
            {"found": "different", "files": ("tracks.parquet",)},
            [
                "track: the reference outputs differ (tracks.parquet)",
                "at N = 1: base link_precision 0.984",
                "; new link_precision 0.984",
            ],
        ),
        # An output without a record proves nothing.
        ({"found": "unknown"}, ["track: a reference output left no record"]),
    ],
    ids=["different", "unknown"],
)
def test_outputs_are_said_with_their_quality(compared, output, said):
    outputs = (OutputComparison(stage="track", **output),)
    text = words(compared, outputs=outputs)
    assert all(one in text for one in some(said))


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (("code",), "the code differs"),
        (("code", "settings"), "Settings differ"),
        (("hardware", "nodes"), "each ratio compares machines, not code alone"),
        (("nodes",), "on different nodes of one kind of hardware"),
    ],
)
def test_what_differs_is_remarked(kinds, said):
    told = tuple(Difference(kind=kind, what="it", base="1", new="2") for kind in kinds)
    assert said in next(iter(remarks(CONTEXT.model_copy(update={"differences": told}))))


def test_a_stage_on_two_devices_is_named_by_both():
    rows = [
        {"stage": "segment", "device": device, "workers": workers}
        for device in ("cpu", "cuda")
        for workers in (1, 2)
    ]
    both, one = (
        named([row | {"name": stage_name(row, told)} for row in told]) for told in (rows, rows[:2])
    )
    assert both == "segment (cpu) at N = 1 and 2; segment (cuda) at N = 1 and 2"
    assert one == "segment at N = 1 and 2"


def test_a_verdict_on_an_invalid_configuration_says_so(broken):
    table = comparison(broken.trials, broken.trials)
    assert table.filter("base_invalid", "new_invalid")[["stage", "workers"]].rows() == [
        ("track", 4)
    ]
    text = printed(shown(CONTEXT, judged(table)), width=140)
    marked = [line for line in text.splitlines() if "same, invalid" in line]
    assert [line.split()[0] for line in marked] == ["4"]
    assert text.count("same, invalid") == 1
    for side in ("base", "new"):
        assert (
            f"Invalid in {side}: track at N = 4. The output there is not that of the run's own "
            "baseline, so the verdict compares two different results."
        ) in " ".join(text.split())


def test_a_difference_that_may_not_count_is_shown_and_explained(full):
    close = full.trials.with_columns(wall_s=1.05 * pl.col("wall_s"))
    table = comparison(full.trials, close)
    assert set(table["verdict"]) <= {"slower", "not enough data"}
    slower = table.filter(verdict="slower").height
    text = words(judged(table))
    assert len(re.findall(r"\] slower", text)) == slower > 0
    assert "slower, faster: there is a change beyond chance, perhaps of less than 5 %." in text


def test_what_is_paired_by_blocks_says_so(full):
    slower = full.trials.with_columns(wall_s=1.3 * pl.col("wall_s"))
    text = words(judged(comparison(full.trials, slower, paired=True)), paired=True)
    assert "One-sided Wilcoxon signed-rank tests of the blocks that timed both" in text
    assert "Sessions of one machine" not in text
    # Sixteen configurations are more than six blocks can tell apart.
    assert "for this number of blocks: no difference, however large" in text
