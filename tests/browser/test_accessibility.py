"""An accessibility checker finds nothing serious, in either theme and on a phone."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from browser.reports import Report

PHONE = {"width": 375, "height": 812, "has_touch": True, "is_mobile": True}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": PHONE,
    "phone, dark": PHONE | {"color_scheme": "dark"},
}
REPORTS = ("full", "broken", "single", "hostile")
SERIOUS = {"serious", "critical"}
DRAWN = (
    "[...document.querySelectorAll('[data-chart] .chart-plot svg')]"
    ".reduce((sum, svg) => sum + +svg.getAttribute('width'), 0)"
)
"""Sum of the widths at which all charts are drawn."""


def serious(page: Page) -> list[str]:
    """What the checker finds that keeps somebody out."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {node['html']:.200}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", REPORTS)
def test_nothing_serious_is_found(request, visit, name, look):
    report: Report = request.getfixturevalue(name)
    page = visit(report.page, **LOOKS[look])
    assert serious(page) == []


def test_the_checker_would_find_it(full, visit):
    page = visit(full.page)
    page.evaluate("() => document.querySelector('main').append(document.createElement('button'))")
    assert any(one.startswith("button-name") for one in serious(page))


def test_every_chart_is_named_and_described_for_those_who_do_not_see_it(full, visit):
    page = visit(full.page)
    charts = page.evaluate("() => window.pyscale.data.charts")
    assert len(charts) > 5
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
    before = page.evaluate(DRAWN)
    page.set_viewport_size({"width": 700, "height": 800})
    page.wait_for_function(f"({DRAWN}) !== {before}")
    for svg in page.locator("[data-chart] .chart-plot svg").all():
        assert svg.get_attribute("role") == "img"
        assert svg.get_attribute("aria-label")
        assert svg.locator("[role]").count() == 0


def test_the_page_has_one_heading_and_no_level_is_left_out(full, visit):
    page = visit(full.page)
    levels = page.evaluate(
        "() => [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    for before, after in pairwise(levels):
        assert after <= before + 1
