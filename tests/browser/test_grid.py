"""The page of a run over sizes and devices: one run, opened as its readers open it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page

from browser.chromium import Visit
from browser.drawn import marks, place
from browser.reports import Report, Row
from browser.test_accessibility import LOOKS, serious
from browser.test_first_screen import assert_seen, text_of
from browser.test_interactions import choose
from browser.test_numbers import LOOSE, NO_COLUMNS, WRITERS, read
from pyscale.report import wording

MOST_BYTES = 8 << 20
WRITTEN = {"ratio": wording.ratio, "steady_s": wording.number, "share": wording.percent}


def opened(grid: Report, visit: Visit, **look: Any) -> Page:
    return visit(grid.page, **look)


def number(text: str) -> float | None:
    return float(text) if text else None


def test_the_first_screen_says_how_much_faster_what_limits_it_and_whether_to_trust_it(grid, visit):
    page = opened(grid, visit)
    for answer in ("ran", "hardware", "speedup", "limit", "trust"):
        assert_seen(page.locator(f"[data-answer={answer}]"))
    *_, last = (row for row in grid.rows("ratios").values() if row["measure"] == "steady")
    assert text_of(page, "speedup").startswith(wording.ratio(float(last["ratio"])))
    assert "flattens at" in text_of(page, "speedup")
    assert text_of(page, "trust").startswith("Yes")
    assert_seen(page.locator("[data-chart=sizeratio] .chart-plot svg").first)


def test_every_number_is_the_one_of_its_place_in_the_csv(grid, visit):
    page = opened(grid, visit)
    tables = {name: grid.rows(name) for name in ("points", "ratios", "parts", "configurations")}
    found = [one for one in read(page) if one.table in tables]
    for one in found:
        exact = json.loads(one.value)
        assert exact == float(tables[one.table][one.key][one.column]), one
        writer = WRITTEN.get(one.column.removesuffix("_low").removesuffix("_high"))
        told = {write(exact) for write in (WRITERS if writer is None else (writer,))}
        assert one.text.strip() in told | {str(exact)}, one
    assert set(page.evaluate(LOOSE)) <= NO_COLUMNS
    there = {(one.table, one.key, one.column) for one in found}
    for key in tables["points"]:
        assert {("points", key, column) for column in ("steady_s", "first_s", "start_s")} <= there
    for key, row in tables["ratios"].items():
        if row["measure"] == "steady":
            assert ("ratios", key, "ratio_low") in there


def of_line(rows: list[Row], line: str) -> list[Row]:
    return [row for row in rows if {"cpu": "CPU", "cuda": "GPU (CUDA)"}[row["value"]] == line]


def test_charts_show_what_the_csvs_hold(grid, visit):
    page = opened(grid, visit)
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
    (ceiling,) = (one for one in grid.results.grids[0].ceilings if one.measure == "steady")
    assert (band["ratio_low"], band["ratio"], band["ratio_high"]) == (
        ceiling.low,
        ceiling.ceiling,
        ceiling.high,
    )


def test_switches_change_the_charts_over_sizes(grid, visit):
    page = opened(grid, visit)
    kind = "([chart, axis]) => window.pyscale.views[chart].scale(axis).type"
    assert page.evaluate(kind, ["sizetime", "y"]) == "log"
    choose(page, "scale", "linear")
    page.wait_for_function("() => window.pyscale.views.sizeratio.scale('x').type === 'linear'")
    choose(page, "amount", "relative")
    page.wait_for_function("() => window.pyscale.views.sizetime.signal('amount') === 'relative'")
    (mark, *_) = (one for one in marks(page, "sizetime", type="symbol") if "each" in one)
    assert mark["shown"] == mark["each_s"]


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_serious_is_found_and_nothing_is_too_wide(grid, visit, look):
    page = opened(grid, visit, **LOOKS[look])
    assert serious(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_the_page_is_small(grid):
    assert grid.page.stat().st_size < MOST_BYTES
