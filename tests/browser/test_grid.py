"""The page of a run over sizes and devices: one run, opened as its readers open it."""

import pytest

from browser.drawn import choose, marks, place
from browser.test_first_screen import assert_seen, text_of
from browser.test_numbers import WRITERS, places_of_the_csv
from pyscale.analysis.grid.findings import GridFindings
from pyscale.report import wording

WRITTEN = {"ratio": wording.ratio, "steady_s": wording.number, "share": wording.percent}


def number(text):
    return float(text) if text else None


def test_the_first_screen_says_how_much_faster_what_limits_it_and_whether_to_trust_it(
    grid, visit_once
):
    page = visit_once(grid.page)
    for answer in ("ran", "hardware", "speedup", "limit", "trust"):
        assert_seen(page.locator(f"[data-answer={answer}]"))
    *_, last = (row for row in grid.rows("ratios").values() if row["measure"] == "steady")
    assert text_of(page, "speedup").startswith(wording.ratio(float(last["ratio"])))
    assert "flattens at" in text_of(page, "speedup")
    assert text_of(page, "trust").startswith("Yes")
    assert_seen(page.locator("[data-chart=sizeratio] .chart-plot svg").first)


def test_every_number_is_the_one_of_its_place_in_the_csv(grid, visit_once):
    page = visit_once(grid.page)
    tables = {name: grid.rows(name) for name in ("points", "ratios", "parts", "configurations")}

    def told(one, exact):
        writer = WRITTEN.get(one.column.removesuffix("_low").removesuffix("_high"))
        return {str(exact), *(write(exact) for write in (WRITERS if writer is None else (writer,)))}

    there = places_of_the_csv(page, tables, told)
    for key in tables["points"]:
        assert {("points", key, column) for column in ("steady_s", "first_s", "start_s")} <= there
    for key, row in tables["ratios"].items():
        if row["measure"] == "steady":
            assert ("ratios", key, "ratio_low") in there


def of_line(rows, line):
    return [row for row in rows if {"cpu": "CPU", "cuda": "GPU (CUDA)"}[row["value"]] == line]


def test_charts_show_what_the_csvs_hold(grid, visit_once):
    page = visit_once(grid.page)
    points = list(grid.rows("points").values())
    drawn = {
        (mark["line"], round(mark["length_px"])): mark
        for mark in marks(page, "sizetime", type="symbol")
        if "each" in mark
    }
    assert len(drawn) == len(points)
    for (line, length_px), mark in drawn.items():
        (row,) = (one for one in of_line(points, line) if float(one["length_px"]) == length_px)
        assert mark["call_s"] == number(row["steady_s"])
        assert mark["y"] == pytest.approx(place(page, "sizetime", "y", mark["call_s"]))
    ratios = [row for row in grid.rows("ratios").values() if row["measure"] == "steady"]
    shown = [mark for mark in marks(page, "sizeratio", type="symbol") if "base" in mark]
    assert sorted(mark["ratio"] for mark in shown) == sorted(float(r["ratio"]) for r in ratios)
    band, _end = marks(page, "sizeratio", type="area")
    (ceiling,) = (one for one in grid.results.of(GridFindings).ceilings if one.measure == "steady")
    assert (band["ratio_low"], band["ratio"], band["ratio_high"]) == (
        ceiling.low,
        ceiling.ceiling,
        ceiling.high,
    )


def test_switches_change_the_charts_over_sizes(grid, visit):
    page = visit(grid.page)
    kind = "([chart, axis]) => window.pyscale.views[chart].scale(axis).type"
    assert page.evaluate(kind, ["sizetime", "y"]) == "log"
    choose(page, "scale", "linear")
    page.wait_for_function("() => window.pyscale.views.sizeratio.scale('x').type === 'linear'")
    choose(page, "amount", "relative")
    page.wait_for_function("() => window.pyscale.views.sizetime.signal('amount') === 'relative'")
    (mark, *_) = (one for one in marks(page, "sizetime", type="symbol") if "each" in one)
    assert mark["shown"] == mark["each_s"]
