"""Tests of machines side by side: a column a node, rows that open, reasons instead of zeros."""

import pytest

from madeupmachine import SIZES, measured
from pyscale.analysis.machine.beside import machines_beside
from pyscale.report.comparison import ComparisonContext, conclusion, method
from pyscale.report.judged import judged, not_judged
from pyscale.report.viewer.build import SideBySide
from pyscale.report.viewer.machines import machine_viewer
from pyscale.report.viewer.sources import sources_of_run
from refusals import assert_said

CONTEXT = ComparisonContext(base="fast", new="slow", measured_here=True)


@pytest.fixture(scope="module")
def beside():
    """One node with GPUs, beside two slower nodes without, whose kernels were of other sizes."""
    fast, of_fast = measured("fast", nodes=1)
    slow, of_slow = measured("slow", 1.5, SIZES | {"kernels_cpu": "z"}, nodes=2, gpus=False)
    return SideBySide.of(
        [
            *sources_of_run(fast, place=0, timings=of_fast, about="system"),
            *sources_of_run(slow, place=1, timings=of_slow, about="system"),
        ],
        machines_beside,
    )


@pytest.fixture(scope="module")
def shown(beside):
    return machine_viewer(beside)


def row(shown, name, group="storage"):
    (found,) = (one for one in shown.rows if (one.name, one.group) == (name, group))
    return found


def cell(shown, name, group="storage", column=0):
    return row(shown, name, group).cells[column]


def test_what_cannot_run_says_why_and_is_never_zero(shown):
    cannot = cell(shown, "particle_random_read_direct")
    assert cannot.wall_s is None
    assert_said(cannot.cannot)
    assert all(one.wall_s != 0 for each in shown.rows for one in each.cells if one is not None)


def test_a_speedup_of_the_slower_node_is_below_one_and_a_ratio_of_rates_is_marked(shown):
    found = cell(shown, "particle_sequential_read_cold", column=1).speedups[0]
    assert found.value == pytest.approx(1 / 1.5)
    assert found.low < 1 / 1.5 < found.high
    assert cell(shown, "particle_sequential_read_cold").speedups[0] is None
    on_cpu = "kernels on the processor"
    assert cell(shown, "fft_3d", on_cpu, 1).speedups[0].of_rates
    assert "Ratio of rates" in shown.of_rates
    # Maps of another size have none.
    none = cell(shown, "fsc_tight", on_cpu, 1).speedups[0]
    assert (none.value, none.why_not) == (None, "other-size")
    assert "other-size" in shown.why_not


def test_a_tag_is_explained_and_a_wrong_result_is_told(shown):
    wrong = cell(shown, "fsc_tight", "kernels on GPU 2")
    assert wrong.invalid
    unproved = cell(shown, "movie_read_eer_cold").tag
    assert_said(*(f"{one.text}: {one.why}" for one in (wrong.tag, unproved)))


def test_the_table_has_every_number_that_is_shown(beside, shown, assert_told):
    names = ("wall_s", "wall_s_low", "wall_s_high", "repeats", "rate", "why_not")
    assert_told(beside, shown, names, {"speedup": "value", "no_speedup": "why_not"})


def test_verdicts_are_counted_in_sentences(beside):
    rows = judged(tests=beside.pairs[0, 1])
    assert any(row["verdict"] == "worse" for row in rows)
    assert_said(conclusion(CONTEXT, rows), *not_judged(rows), method(CONTEXT, rows))
