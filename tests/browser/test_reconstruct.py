"""The page of reconstruction over ranks: what scales, what holds it back, and what to ask for."""

from playwright.sync_api import expect

from browser.drawn import marks
from browser.test_first_screen import assert_seen, text_of
from browser.test_numbers import WRITERS, places_of_the_csv

OF_RANKS = ("reconstruct", "reconstruct_points")
FIRST = "Colour deblurring, 256 px"
MILLI = 1e-3
WRITTEN = (*WRITERS, "{:+.2f}".format, lambda value: f"{100 * value:.2g} %")


def test_the_first_screen_says_what_scales_and_what_to_ask_for(reconstruction, visit_once):
    page = visit_once(reconstruction.page)
    for answer in ("ran", "hardware", "faster", "limit", "request", "agrees", "image", "trust"):
        assert_seen(page.locator(f"[data-answer={answer}]").first)
    assert text_of(page, "limit", FIRST).startswith("Denoiser: ")
    assert text_of(page, "request", FIRST).startswith("8 ranks: ")
    assert "Timing only" in page.locator("[data-answer=image]").last.inner_text()
    assert_seen(page.locator("[data-chart=components] .chart-plot svg").first)
    assert "which component scales" in page.title()


def told(_one, exact):
    return {str(exact), *(write(given) for given in (exact, exact / MILLI) for write in WRITTEN)}


def test_every_number_is_the_one_of_its_place_in_the_csv(reconstruction, visit_once):
    tables = {name: reconstruction.rows(name) for name in OF_RANKS}
    there = places_of_the_csv(visit_once(reconstruction.page), tables, told)
    assert {table for table, _, _ in there} == set(tables)


def test_what_failed_is_a_row_that_says_why(reconstruction, visit_once):
    page = visit_once(reconstruction.page)
    row = page.locator("#reconstruct table").first.locator("tr", has_text="memory ran out").first
    expect(row).to_contain_text("out of memory")


def test_the_chart_shows_what_the_csv_holds_on_both_scales(reconstruction, visit):
    page = visit(reconstruction.page)
    rows = reconstruction.rows("reconstruct").values()
    known = sorted(
        float(row["speedup"]) for row in rows if row["speedup"] and row["component"] != "objective"
    )
    for scale in ("log", "linear"):
        page.locator(f"input[name=scale][value={scale}]").check(force=True)
        page.wait_for_function(
            "scale => window.pyscale.views.components.scale('y').type === scale", arg=scale
        )
        drawn = [mark for mark in marks(page, "components", type="symbol") if "took" in mark]
        assert sorted(mark["speedup"] for mark in drawn) == known


def test_what_was_published_stands_beside_with_what_must_be_known_of_it(reconstruction, visit_once):
    page = visit_once(reconstruction.page)
    expect(page.locator("#reconstruct table", has_text="7.44 times")).to_be_visible()
    expect(page.locator("#references")).to_contain_text("NVIDIA V100")
