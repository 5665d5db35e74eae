"""An accessibility checker finds nothing serious, in either theme and on a phone."""

from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe

from browser.chromium import PHONE
from browser.drawn import WIDTHS, until, widths

REPORTS = ("full", "broken", "single", "weak", "table", "hostile", "grid", "machine", "machines")
REPORTS += ("loading", "loadings", "reconstruction")
LIKE_FULL = {"weak", "table"}
"""Reports whose pages have no part that `full` has not: the checker is slow."""
SERIOUS = {"serious", "critical"}


def serious(page):
    """What the checker finds that keeps somebody out."""
    # Without this it describes all that it finds well done, which takes four times as long.
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {node['html']:.200}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]


def assert_open_to_all(page):
    """In the light theme and in the dark one, which is left again."""
    for _ in ("light", "dark"):
        assert serious(page) == []
        page.locator("button.theme").click()


def test_nothing_serious_is_found_and_on_a_phone_text_keeps_its_size(report, page, visit):
    """A page that is laid out wider than the phone is shown smaller."""
    phone = visit(report.page, **PHONE)
    assert phone.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert phone.evaluate("() => [innerWidth, visualViewport.scale]") == [375, 1]
    small = phone.evaluate(
        """() => [...document.querySelectorAll("main p, main td, main th, main li, main label")]
          .filter(found => found.checkVisibility() && found.textContent.trim())
          .filter(found => parseFloat(getComputedStyle(found).fontSize) < 11)
          .map(found => found.textContent.trim().slice(0, 60))"""
    )
    assert small == []
    for shown in (page, phone) if report.folder.name not in LIKE_FULL else ():
        assert_open_to_all(shown)


def test_the_checker_would_find_it(single, visit):
    page = visit(single.page)
    page.evaluate("() => document.querySelector('main').append(document.createElement('button'))")
    assert any(one.startswith("button-name") for one in serious(page))


@pytest.mark.parametrize(("name", "at_least"), [("full", 6), ("machines", 1)])
def test_every_chart_is_named_and_described_for_those_who_do_not_see_it(
    request, visit_once, name, at_least
):
    page = visit_once(request.getfixturevalue(name).page)
    charts = page.evaluate("() => window.pyscale.data.charts")
    assert len(charts) >= at_least
    for name, chart in charts.items():
        assert chart["description"]
        drawn = page.locator(f"[data-chart={name}] .chart-plot svg")
        assert drawn.count() >= 1
        for svg in drawn.all():
            assert svg.get_attribute("role") == "img"
            label = svg.get_attribute("aria-label") or ""
            assert chart["title"] in label
            assert len(label) > len(chart["title"]) + 40


def test_charts_stay_one_image_each_when_the_window_gets_another_width(single, visit):
    page = visit(single.page)
    before = widths(page)
    page.set_viewport_size({"width": 700, "height": 800})
    until(page, f"() => ({WIDTHS})() !== {before}")
    for svg in page.locator("[data-chart] .chart-plot svg").all():
        assert svg.get_attribute("role") == "img"
        assert svg.get_attribute("aria-label")
        assert svg.locator("[role]").count() == 0


def test_the_page_has_one_heading_and_no_level_is_left_out(full, visit_once):
    page = visit_once(full.page)
    levels = page.evaluate(
        "() => [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    for before, after in pairwise(levels):
        assert after <= before + 1
