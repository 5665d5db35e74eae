"""What charts show is what the CSV files hold."""

import pytest

from browser.drawn import marks, place, until
from pyscale.analysis.grid.findings import GridFindings
from pyscale.report.curves import curves

REPORTS = ("full", "broken", "single", "weak", "table", "hostile")


def by_curve(report, table):
    """Rows of a CSV with the names of their curves."""
    names = {
        (curve.key["suite"], curve.key["stage"], curve.key["device"] or ""): curve.name
        for curve in curves(report.results.configurations)
    }
    rows = report.rows(table).values()
    return [(names[row["suite"], row["stage"], row["device"]], row) for row in rows]


def number(text):
    return float(text) if text else None


def test_the_speedup_chart_shows_every_valid_speedup_at_its_height(page, report):
    points = marks(page, "speedup", type="symbol", invalid=False)
    found = {(mark["curve"], mark["workers"]): mark for mark in points}
    rows = [
        (name, row)
        for name, row in by_curve(report, "configurations")
        if row["wall_s"] and row["invalid"] == "false"
    ]
    assert rows
    for name, row in rows:
        mark = found.pop((name, int(row["workers"])))
        assert mark["speedup"] == number(row["speedup"])
        assert mark["y"] == pytest.approx(place(page, "speedup", "y", mark["speedup"]))
    assert found == {}


def test_intervals_are_as_long_as_they_are(full, visit_once):
    page = visit_once(full.page)
    rules = marks(page, "speedup", type="rule")
    found = {(rule["curve"], rule["workers"]): rule for rule in rules}
    rows = [(name, row) for name, row in by_curve(full, "configurations") if row["speedup_low"]]
    assert len(rows) >= 8
    for name, row in rows:
        rule = found[name, int(row["workers"])]
        assert rule["shown_low"] == number(row["speedup_low"])
        assert rule["shown_high"] == number(row["speedup_high"])


def test_an_invalid_configuration_is_a_cross_and_no_point(broken, visit_once):
    page = visit_once(broken.page)
    crosses = marks(page, "speedup", curve="track", workers=4, type="symbol")
    assert [mark["invalid"] for mark in crosses] == [True]


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
