"""Pages of runs that are no pipeline: over sizes, of a machine, of loading, of ranks.

What they say is held by `tests/golden`.
"""

import pytest

from browser.drawn import marks, place, until
from browser.test_first_screen import assert_seen
from pyscale.analysis.grid.findings import GridFindings


@pytest.mark.parametrize(
    ("name", "answers", "chart", "title"),
    [
        ("grid", "ran hardware speedup limit trust", "sizeratio", ""),
        (
            "machines",
            "ran hardware nodes storage decoding compute trust",
            "machinenodes",
            "what the machine can do",
        ),
        (
            "loading",
            "ran hardware feeds settings given-up trust",
            "loaderpareto",
            "whether storage feeds the GPU",
        ),
        (
            "reconstruction",
            "ran hardware faster limit request agrees image trust",
            "components",
            "which component scales",
        ),
    ],
)
def test_the_first_screen_answers_the_questions_of_its_kind(
    request, visit_once, name, answers, chart, title
):
    page = visit_once(request.getfixturevalue(name).page)
    for answer in answers.split():
        assert_seen(page.locator(f"[data-answer={answer}]").first)
    assert_seen(page.locator(f"[data-chart={chart}] .chart-plot svg").first)
    if name in {"machines", "loading"}:
        for absent in ("request", "speedup", "limit"):
            assert page.locator(f"[data-answer={absent}]").count() == 0
    assert title in page.title()


class TestOverSizes:
    @pytest.fixture
    def page(self, grid, visit_once):
        return visit_once(grid.page)

    def test_charts_show_what_the_csvs_hold(self, grid, page):
        lines = {"cpu": "CPU", "cuda": "GPU (CUDA)"}
        points = {
            (lines[row["value"]], float(row["length_px"])): row
            for row in grid.rows("points").values()
        }
        drawn = {
            (mark["line"], round(mark["length_px"])): mark
            for mark in marks(page, "sizetime", type="symbol")
            if "title" not in mark
        }
        assert drawn.keys() == points.keys()
        for at, mark in drawn.items():
            assert mark["call_s"] == float(points[at]["steady_s"])
            assert mark["y"] == pytest.approx(place(page, "sizetime", "y", mark["call_s"]))
        ratios = [row for row in grid.rows("ratios").values() if row["measure"] == "steady"]
        shown = [m for m in marks(page, "sizeratio", type="symbol") if "title" not in m]
        assert sorted(mark["ratio"] for mark in shown) == sorted(float(r["ratio"]) for r in ratios)
        band, _end = marks(page, "sizeratio", type="area")
        ceilings = grid.results.of(GridFindings).ceilings
        (ceiling,) = (one for one in ceilings if one.measure == "steady")
        assert (band["ratio_low"], band["ratio"], band["ratio_high"]) == (
            ceiling.low,
            ceiling.ceiling,
            ceiling.high,
        )


class TestOfLoading:
    def test_the_chart_shows_what_the_csv_holds(self, loading, visit_once):
        page = visit_once(loading.page)
        rows = [row for row in loading.rows("loader").values() if row["effective_slides"]]
        drawn = marks(page, "loaderpareto", type="symbol")
        rates = sorted(float(row["patches_per_s"]) for row in rows)
        assert sorted(mark["patches_per_s"] for mark in drawn) == rates
        for mark in drawn:
            if mark["curve"] == "N = 1":
                for axis, column in (("x", "effective_slides"), ("y", "patches_per_s")):
                    at = place(page, "loaderpareto", axis, mark[column])
                    assert mark[axis] == pytest.approx(at)
        assert page.evaluate("() => window.pyscale.views.loaderpareto.scale('x').domain()[0]") == 0


class TestOfRanks:
    @pytest.fixture
    def page(self, reconstruction, visit_once):
        return visit_once(reconstruction.page)

    def test_the_chart_shows_what_the_csv_holds_on_both_scales(self, reconstruction, page):
        rows = reconstruction.rows("reconstruct").values()
        known = sorted(
            float(row["speedup"])
            for row in rows
            if row["speedup"] and row["component"] != "objective"
        )
        was = page.locator("input[name=scale]:checked").get_attribute("value")
        for scale in ("linear", "log", was):
            page.locator(f"input[name=scale][value={scale}]").check(force=True)
            until(page, "to => window.pyscale.views.components.scale('y').type === to", scale)
            drawn = marks(page, "components", type="symbol")
            assert sorted(mark["speedup"] for mark in drawn) == known


def test_a_node_that_stands_apart_has_rings(machines, visit_once):
    page = visit_once(machines.page)
    apart = [r for r in machines.rows("nodes").values() if r["outlier"] == "true"]
    assert apart
    every = marks(page, "machinenodes", type="symbol")
    assert len(every) == len(machines.rows("nodes")) + len(apart)
