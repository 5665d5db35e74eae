"""Tests of machines side by side: a column a node, rows that open, reasons instead of zeros."""

import pytest

from atleastone import some
from madeupmachine import SIZES, measured
from pyscale.analysis.machine.beside import machines_beside
from pyscale.report.comparison import ComparisonContext, judged
from pyscale.report.comparisonview import Compared
from pyscale.report.viewer.build import comparison_table, machine_viewer
from pyscale.report.viewer.sources import SideBySide, sources_of_run
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
    (found,) = (one for one in shown.rows if (one["name"], one["group"]) == (name, group))
    return found


def cell(shown, name, group="storage", column=0):
    return row(shown, name, group)["cells"][column]


def test_what_cannot_run_says_why_and_is_never_zero(shown):
    cannot = cell(shown, "particle_random_read_direct")
    assert cannot["wall_s"] is None
    assert_said(cannot["cannot"])
    assert all(one["wall_s"] != 0 for each in shown.rows for one in each["cells"] if one)


def test_a_speedup_of_the_slower_node_is_below_one_and_a_ratio_of_rates_is_marked(shown):
    found = cell(shown, "particle_sequential_read_cold", column=1)["speedups"][0]
    assert found["speedup"] == pytest.approx(1 / 1.5)
    assert found["speedup_low"] < 1 / 1.5 < found["speedup_high"]
    assert cell(shown, "particle_sequential_read_cold")["speedups"][0] is None
    on_cpu = "kernels on the processor"
    assert cell(shown, "fft_3d", on_cpu, 1)["speedups"][0]["basis"] == "rate"
    assert "Ratio of rates" in shown.of_rates
    # Maps of another size have none.
    none = cell(shown, "fsc_tight", on_cpu, 1)["speedups"][0]
    assert ("speedup" in none, none["why_not"]) == (False, "other-size")
    assert "other-size" in shown.why_not


def test_a_tag_is_explained_and_a_wrong_result_is_told(shown):
    wrong = cell(shown, "fsc_tight", "kernels on GPU 2")
    assert wrong["invalid"]
    unproved = cell(shown, "movie_read_eer_cold")
    assert_said(*(f"{one['tag']}: {one['why']}" for one in (wrong, unproved)))


def test_the_table_has_every_number_that_is_shown(shown):
    table = comparison_table(shown.found, shown.layout)
    keys = ("side", *shown.found.names)
    rows = {
        "|".join("" if row[name] is None else str(row[name]) for name in keys): row
        for row in table.to_dicts()
    }
    cells = [cell for row in shown.rows for cell in row["cells"] if cell is not None]
    for cell in some(cells):
        own, against = rows[cell["key"]], cell["speedups"][0] or {}
        for name in ("wall_s", "wall_s_low", "wall_s_high", "repeats", "rate", "why_not"):
            assert own[name] == cell[name]
        for name in ("speedup", "speedup_low", "speedup_high"):
            assert own[name] == against.get(name)
        assert own[shown.layout.no_speedup] == against.get("why_not")


def test_verdicts_are_counted_in_sentences(beside):
    rows = judged(tests=beside.pairs[0, 1])
    assert any(row["verdict"] == "worse" for row in rows)
    found = Compared(CONTEXT, rows)
    assert_said(found.headline, *found.not_judged, found.method)
