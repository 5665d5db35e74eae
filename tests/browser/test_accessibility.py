"""An accessibility checker finds nothing serious in any kind of page.

One page is judged in the dark and on a phone too: all have their colours from one style sheet.
"""

import pytest
from axe_playwright_python.sync_playwright import Axe

from browser.chromium import PHONE

REPORTS = ("grid", "machine", "loading", "reconstruction")
"""All kinds but the pipeline's, which is judged by itself."""
SERIOUS = {"serious", "critical"}
OF_COLOURS = ["color-contrast", "link-in-text-block"]
"""Rules that look at the theme: no other one does."""
CHECKED = """
async options => {
  // Texts that are painted alike are checked once: there are thousands, and they take most time.
  const painted = ["color", "backgroundColor", "backgroundImage", "opacity", "textDecorationLine"];
  const paint = new Map([[null, ""]]), looks = new Map();
  // Over the gradient that is a shadow at its side, the colours of a table cannot be told.
  const tables = document.querySelectorAll(".scroll");
  for (const table of tables) table.style.background = "none";
  for (const found of document.querySelectorAll("*")) {
    const style = getComputedStyle(found);
    paint.set(found, paint.get(found.parentElement) + painted.map(name => style[name]));
    const look = paint.get(found) + style.fontSize + style.fontWeight;
    const seen = [...found.childNodes].some(node => node.data?.trim()) && found.checkVisibility();
    if (seen && !looks.has(look)) looks.set(look, found);
  }
  for (const found of looks.values()) found.dataset.look = "";
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-look]" }] });
  const { violations } = await axe.run(options);
  for (const found of looks.values()) delete found.dataset.look;
  for (const table of tables) table.style.background = "";
  return violations;
}
"""


def serious(page, **options):
    """What the checker finds that keeps somebody out."""
    page.evaluate(Axe().axe_script)
    # Without this it describes all that it finds well done, which takes four times as long.
    found = page.evaluate(CHECKED, {"resultTypes": ["violations"], **options})
    return [
        f"{one['id']}: {one['help']}: {node['html']:.200}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]


def serious_in_both_themes(page):
    """In the light one, and the colours of the dark one, which is left again."""
    found = serious(page)
    page.locator("button.theme").click()
    found += serious(page, runOnly=OF_COLOURS)
    page.locator("button.theme").click()
    return found


def test_nothing_serious_is_found(page):
    assert serious(page) == []


def test_nothing_serious_is_found_in_the_dark_and_on_a_phone_where_text_keeps_its_size(
    full, visit_once
):
    """A page that is laid out wider than the phone is shown smaller.

    One theme is enough there: no colour depends on the width.
    """
    phone = visit_once(full.page, **PHONE, color_scheme="dark")
    assert phone.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert phone.evaluate("() => [innerWidth, visualViewport.scale]") == [375, 1]
    small = phone.evaluate(
        """() => [...document.querySelectorAll("main p, main td, main th, main li, main label")]
          .filter(found => found.checkVisibility() && found.textContent.trim())
          .filter(found => parseFloat(getComputedStyle(found).fontSize) < 11)
          .map(found => found.textContent.trim().slice(0, 60))"""
    )
    assert small == []
    assert serious(phone) == []
    assert serious_in_both_themes(visit_once(full.page)) == []


@pytest.mark.parametrize(
    ("name", "at_least"),
    [pytest.param("full", 5, marks=pytest.mark.smoke), ("machines", 1)],
)
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
