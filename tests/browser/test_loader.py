"""The page of loading patches: the answer, the settings to take, and what they trade."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.drawn import marks, place
from browser.reports import Report
from browser.test_accessibility import LOOKS, serious
from browser.test_first_screen import assert_seen, text_of
from browser.test_numbers import LOOSE, NO_COLUMNS, WRITERS, read
from pyscale.report.wording import number

OF_LOADING = ("loader", "loader_ranks")
SCALES = (1e3, 1e6, 1e-3)
"""What numbers may be divided by, so that they have the unit that is written beside them."""
REPORTS = ("loading", "loadings")
WIDTHS = (1280, 375, 320)
MOST_BYTES = 8 << 20


@pytest.fixture(params=REPORTS)
def report(request: pytest.FixtureRequest) -> Report:
    found: Report = request.getfixturevalue(request.param)
    return found


def found_in(page: Page) -> list[Any]:
    return [one for one in read(page) if one.table in OF_LOADING]


def test_the_first_screen_says_whether_storage_feeds_the_gpu_and_with_which_settings(
    loading, visit_once
):
    page = visit_once(loading.page)
    for answer in ("ran", "hardware", "feeds", "settings", "given-up", "trust"):
        assert_seen(page.locator(f"[data-answer={answer}]").first)
    row = loading.rows("loader")["pool16|2"]
    assert text_of(page, "feeds").startswith(f"No: {number(float(row['patches_per_s']))} patches/s")
    assert "pool_size=16" in text_of(page, "settings")
    assert_seen(page.locator("[data-chart=loaderpareto] .chart-plot svg").first)
    for absent in ("request", "speedup", "limit"):
        assert page.locator(f"[data-answer={absent}]").count() == 0
    assert "whether storage feeds the GPU" in page.title()


def test_where_nobody_told_what_training_takes_the_first_screen_says_how(loadings, visit_once):
    page = visit_once(loadings.page)
    assert text_of(page, "feeds").startswith("Unknown: ")
    assert "consumes_per_s" in text_of(page, "feeds")
    assert text_of(page, "trust").startswith("Yes")
    assert "fewer than 6 trials" in text_of(page, "trust")


def test_every_number_is_the_one_of_its_place_in_the_csv(report, visit_once):
    page = visit_once(report.page)
    tables = {name: report.rows(name) for name in OF_LOADING}
    found = found_in(page)
    assert {one.table for one in found} == set(tables)
    for one in found:
        exact = json.loads(one.value)
        assert exact == float(tables[one.table][one.key][one.column]), one
        told = {write(exact / scale) for scale in SCALES for write in WRITERS}
        told |= {write(exact) for write in WRITERS}
        assert one.text.strip() in told, one
    assert set(page.evaluate(LOOSE)) <= NO_COLUMNS
    there = {(one.table, one.key, one.column) for one in found}
    for key, row in tables["loader"].items():
        if row["patches_per_s"]:
            wanted = ("patches_per_s", "inferred_per_s", "wait_p99_s", "effective_slides")
            assert {("loader", key, column) for column in wanted} <= there


def test_a_failed_configuration_is_a_row_that_says_why(loading, visit_once):
    page = visit_once(loading.page)
    row = page.locator("#loader table").first.locator("tr", has_text="CMU-1.svs").first
    expect(row).to_contain_text("failed")


def test_the_chart_shows_what_the_csv_holds(loading, visit_once):
    page = visit_once(loading.page)
    rows = [row for row in loading.rows("loader").values() if row["effective_slides"]]
    drawn = [m for m in marks(page, "loaderpareto", type="symbol") if "rated" in m]
    assert sorted(mark["rate"] for mark in drawn) == sorted(float(r["patches_per_s"]) for r in rows)
    for mark in drawn:
        if mark["curve"] != "N = 1":
            continue
        assert mark["x"] == pytest.approx(
            place(page, "loaderpareto", "x", mark["effective_slides"])
        )
        assert mark["y"] == pytest.approx(place(page, "loaderpareto", "y", mark["rate"]))
    assert page.evaluate("() => window.pyscale.views.loaderpareto.scale('x').domain()[0]") == 0


def test_settings_are_copied_by_keyboard(loading, visit):
    page = visit(loading.page)
    copy = page.locator("#loader button.copy").last
    copy.focus()
    page.keyboard.press("Enter")
    expect(copy).to_have_text("Copied")
    code = page.locator("#loader .command code").last.inner_text()
    assert code.startswith("DataLoader(dataset, ")


def test_what_was_published_stands_beside_with_what_must_be_known_of_it(loadings, visit_once):
    page = visit_once(loadings.page)
    table = page.locator("#loader table", has_text="2150 patches/s")
    expect(table).to_be_visible()
    expect(page.locator("#references")).to_contain_text("full prefetch queues")


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_serious_is_found_and_nothing_is_too_wide(report, visit, look):
    page = visit(report.page, **LOOKS[look])
    assert serious(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_the_page_never_scrolls_sideways(report, visit):
    page = visit(report.page)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)


def test_the_chart_is_described_for_those_who_do_not_see_it(report, visit_once):
    page = visit_once(report.page)
    for svg in page.locator("[data-chart=loaderpareto] .chart-plot svg").all():
        label = svg.get_attribute("aria-label") or ""
        assert "Diversity against speed" in label
        assert "on the front" in label


def test_the_page_is_small(report):
    assert report.page.stat().st_size < MOST_BYTES
