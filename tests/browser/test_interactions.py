"""What a reader chooses shows at once, by mouse and by keyboard."""

import pytest
from playwright.sync_api import expect

from browser.drawn import choose, marks, until, until_drawn

BY_STAGE = ("speedup", "walltime", "losses", "throughput")
IS_SCALE = "scale => window.pyscale.views.speedup.scale('y').type === scale"
INK = """() => getComputedStyle(
  document.querySelector("[data-chart=speedup] .chart-plot svg .role-axis-label text")).fill"""


@pytest.fixture
def page(full, visit_once):
    """A page that each test leaves as it found it."""
    return visit_once(full.page)


def scales(page):
    return page.evaluate(
        "() => ['x', 'y'].map(axis => window.pyscale.views.speedup.scale(axis).type)"
    )


def test_a_stage_that_is_not_chosen_leaves_every_chart_and_every_table(page):
    before = {chart: len(marks(page, chart, curve="track")) for chart in BY_STAGE}
    assert all(before.values())
    rows = page.locator("main tr[data-stage=track]:visible")
    assert rows.count() > 0
    page.locator("input[name=stage][value=track]").uncheck()
    expect(rows).to_have_count(0)
    assert page.locator("main tr[data-stage=segment]").first.is_visible()
    for chart in BY_STAGE:
        until_drawn(page, chart, "track", is_there=False)
        assert marks(page, chart, curve="segment")
    page.locator("input[name=stage][value=track]").check()
    for chart, count in before.items():
        until_drawn(page, chart, "track", is_there=True)
        assert len(marks(page, chart, curve="track")) == count


def test_charts_of_the_first_screen_change_between_linear_and_log(page):
    assert scales(page) == ["linear", "linear"]
    choose(page, "scale", "log")
    until(page, IS_SCALE, "log")
    assert scales(page)[0] == "log"
    assert marks(page, "speedup", curve="segment")
    choose(page, "scale", "linear")
    until(page, IS_SCALE, "linear")


def test_the_theme_is_one_button_that_says_its_state_and_is_kept(full, visit):
    """What else was chosen stays; the theme is there when the page is opened again too."""
    page = visit(full.page)
    page.locator("input[name=stage][value=track]").uncheck()
    choose(page, "scale", "log")
    until(page, IS_SCALE, "log")
    button = page.locator("button.theme")
    assert button.get_attribute("aria-pressed") == "false"
    paper = "() => getComputedStyle(document.body).backgroundColor"
    light, ink = page.evaluate(paper), page.evaluate(INK)
    button.click()
    until(page, "() => document.documentElement.dataset.theme === 'dark'")
    assert button.get_attribute("aria-pressed") == "true"
    assert page.evaluate(paper) != light
    until(page, f"ink => ({INK})() !== ink", ink)
    until(page, IS_SCALE, "log")
    assert marks(page, "speedup", curve="track") == []
    assert marks(page, "speedup", curve="segment")
    page.reload()
    page.evaluate("() => window.pyscale.ready")
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    assert button.get_attribute("aria-pressed") == "true"


def test_stages_are_left_out_with_the_space_bar_and_scales_chosen_with_arrows(page):
    page.locator("input[name=stage][value=track]").focus()
    for is_there in (False, True):
        page.keyboard.press("Space")
        until_drawn(page, "speedup", "track", is_there=is_there)
    page.locator("input[name=scale]:checked").focus()
    for key, scale in (("ArrowRight", "log"), ("ArrowLeft", "linear")):
        page.keyboard.press(key)
        until(page, IS_SCALE, scale)
