"""The page of loading patches: the answer, the settings to take, and what they trade."""

import pytest
from playwright.sync_api import expect

from browser.drawn import marks, place
from browser.test_first_screen import assert_seen, text_of
from browser.test_numbers import WRITERS, places_of_the_csv
from pyscale.report.wording import number

OF_LOADING = ("loader", "loader_ranks")
SCALES = (1e3, 1e6, 1e-3)
"""What numbers may be divided by, so that they have the unit that is written beside them."""
REPORTS = ("loading", "loadings")


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


def told(_one, exact):
    return {write(each) for each in (exact, *(exact / by for by in SCALES)) for write in WRITERS}


def test_every_number_is_the_one_of_its_place_in_the_csv(page, report):
    tables = {name: report.rows(name) for name in OF_LOADING}
    there = places_of_the_csv(page, tables, told)
    assert {table for table, _, _ in there} == set(tables)
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


def test_settings_are_copied_by_keyboard(loading, visit_once):
    page = visit_once(loading.page)
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
