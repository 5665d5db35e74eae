"""The page on a phone, in the dark, and on paper."""

import pytest
from playwright.sync_api import Error

from browser.drawn import until_wide, widths

REPORTS = ("full", "broken", "single", "weak", "table", "hostile", "grid", "machine", "machines")
REPORTS += ("loading", "loadings", "reconstruction")
MOST_BYTES = 8 << 20


@pytest.fixture
def narrowed(page):
    """A page in a window that gets another width."""
    before = widths(page)
    yield page
    page.set_viewport_size({"width": 1280, "height": 800})
    until_wide(page, before)


def test_the_page_is_small_and_nothing_makes_it_scroll_sideways(narrowed, report):
    assert report.page.stat().st_size < MOST_BYTES
    for width in (1920, 768, 375, 320) if report.folder.name == "full" else (320,):
        narrowed.set_viewport_size({"width": width, "height": 800})
        # Charts follow when they are told that their place has changed.
        try:
            narrowed.wait_for_function(
                "width => document.documentElement.scrollWidth <= width", arg=width
            )
        except Error:
            pytest.fail(f"at {width} pixels: {too_wide(narrowed, width)}")


LOOSE = r"""
() => [...document.querySelectorAll(
  "main section:not(#viewer):not(#machines) tr:not(.whole) td"
)].filter(cell => {
  const copy = cell.cloneNode(true);
  copy.querySelectorAll("data").forEach(found => found.remove());
  return /^[\s\d.,\[\]()+-]*\d[\s\d.,\[\]()+-]*$/.test(copy.textContent);
}).map(cell => [...cell.closest("table").querySelectorAll("thead th")].at(
  cell.cellIndex - cell.parentElement.cells.length)?.innerText)
"""
"""Column names of cells in which a bare number stands that names no place in a CSV.

The sum over all stages stands in none.
"""


def test_no_table_has_a_number_that_names_no_place_in_a_csv(page):
    # But for the N that raise a flag.
    assert set(page.evaluate(LOOSE)) <= {"at N ="}


def test_on_paper_nothing_is_wider_than_the_sheet_and_no_control_is_left(full, visit):
    page = visit(full.page, width=718)
    page.emulate_media(media="print")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 718, too_wide(page, 718)
    cut = page.evaluate(
        """() => [...document.querySelectorAll("main *")].filter(found =>
          found.scrollWidth > found.clientWidth + 1 && found.clientWidth > 0 &&
          ["auto", "scroll", "hidden"].includes(getComputedStyle(found).overflowX) &&
          !found.closest(".unseen") && found.checkVisibility())
          .map(found => found.outerHTML.slice(0, 120))"""
    )
    assert cut == []
    left = page.evaluate(
        """() => [...document.querySelectorAll("button, select, nav, input")]
          .filter(found => found.checkVisibility({ visibilityProperty: true }))
          .map(found => found.outerHTML.slice(0, 120))"""
    )
    assert left == [], "controls on paper"


def too_wide(page, width):
    """What reaches beyond the screen, for the message of a failure."""
    return page.evaluate(
        """width => [...document.querySelectorAll("body *")]
          .filter(found => found.getBoundingClientRect().right > width + 1)
          .map(found => found.outerHTML.slice(0, 120)).slice(0, 5)""",
        width,
    )
