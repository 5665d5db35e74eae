"""What a reader chooses shows at once, by mouse and by keyboard."""

import pytest
from playwright.sync_api import expect

from browser.drawn import marks, until_drawn

BY_STAGE = ("speedup", "walltime", "losses", "throughput", "memory", "cost")


@pytest.fixture
def page(full, visit):
    return visit(full.page)


def scale(page, chart, axis):
    return page.evaluate(
        "([chart, axis]) => window.pyscale.views[chart].scale(axis).type", [chart, axis]
    )


def until(page, condition, argument=None):
    page.wait_for_function(condition, arg=argument)


def choose(page, name, value):
    """Choose among radios as a reader does, whose label is what is seen."""
    page.locator(f"label:has(input[name='{name}'][value='{value}'])").click()


@pytest.mark.parametrize("chart", BY_STAGE)
def test_a_stage_that_is_not_chosen_leaves_every_chart(page, chart):
    before = marks(page, chart, curve="track")
    assert before
    page.locator("input[name=stage][value=track]").uncheck()
    until_drawn(page, chart, "track", is_there=False)
    assert marks(page, chart, curve="segment")
    page.locator("input[name=stage][value=track]").check()
    until_drawn(page, chart, "track", is_there=True)
    assert len(marks(page, chart, curve="track")) == len(before)


def test_a_stage_that_is_not_chosen_leaves_every_table(page):
    rows = page.locator("main tr[data-stage=track]")
    assert rows.first.is_visible()
    page.locator("input[name=stage][value=track]").uncheck()
    for row in rows.all():
        expect(row).to_be_hidden()
    assert page.locator("main tr[data-stage=segment]").first.is_visible()


def test_charts_of_the_first_screen_change_between_linear_and_log(page):
    assert (scale(page, "speedup", "x"), scale(page, "speedup", "y")) == ("linear", "linear")
    choose(page, "scale", "log")
    until(page, "() => window.pyscale.views.speedup.scale('y').type === 'log'")
    assert scale(page, "speedup", "x") == "log"
    assert marks(page, "speedup", curve="segment")
    choose(page, "scale", "linear")
    until(page, "() => window.pyscale.views.speedup.scale('y').type === 'linear'")


def test_lost_time_changes_between_absolute_and_relative(page):
    before = page.locator("[data-chart=losses]").inner_text()
    choose(page, "amount", "relative")
    until(
        page,
        "before => document.querySelector('[data-chart=losses]').innerText !== before",
        before,
    )
    caption = page.locator("figure:has([data-chart=losses]) figcaption")
    expect(caption).to_contain_text("Where the time went (share)")
    choose(page, "amount", "absolute")
    until(
        page,
        "before => document.querySelector('[data-chart=losses]').innerText === before",
        before,
    )


def test_what_was_chosen_stays_when_the_theme_changes(page):
    page.locator("input[name=stage][value=track]").uncheck()
    choose(page, "scale", "log")
    until(page, "() => window.pyscale.views.speedup.scale('y').type === 'log'")
    page.locator("button.theme").click()
    until(page, "() => document.documentElement.dataset.theme === 'dark'")
    until(page, "() => window.pyscale.views.speedup.scale('y').type === 'log'")
    assert marks(page, "speedup", curve="track") == []
    assert marks(page, "speedup", curve="segment")


def test_the_theme_is_one_button_that_says_its_state(page):
    button = page.locator("button.theme")
    assert button.get_attribute("aria-pressed") == "false"
    paper = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    ink = page.evaluate(INK)
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert page.evaluate(paper) != light
    until(page, f"ink => ({INK})() !== ink", ink)


INK = """() => getComputedStyle(
  document.querySelector("[data-chart=speedup] .chart-plot svg .role-axis-label text")).fill"""


def test_the_theme_that_was_chosen_is_there_when_the_page_is_opened_again(page):
    page.locator("button.theme").click()
    page.reload()
    page.evaluate("() => window.pyscale.ready")
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    assert page.locator("button.theme").get_attribute("aria-pressed") == "true"


def test_a_mark_tells_its_numbers_when_it_is_pointed_at(page):
    page.locator("[data-chart=speedup] .chart-plot svg .mark-symbol.role-mark path").last.hover()
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    for words in ("stage", "N", "speedup"):
        assert words.lower() in tooltip.inner_text().lower()


def test_every_link_of_the_navigation_leads_to_its_section(page):
    links = page.locator("nav[aria-label=Sections] a").all()
    assert len(links) > 8
    for link in links:
        target = page.locator(link.get_attribute("href") or "")
        assert target.count() == 1
        assert target.locator("h1, h2").count() >= 1


class TestByKeyboard:
    def test_the_first_stop_leads_past_the_navigation(self, page):
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        until(page, "() => document.activeElement.id === 'main'")

    def test_every_control_is_a_stop_that_is_seen(self, page):
        """In the order of the page; of several radios of one name only one is a stop."""
        wanted = page.evaluate(
            """() => {
              const seen = new Set();
              return [...document.querySelectorAll("a[href], button, select, input, summary")]
                .filter(found => found.checkVisibility() && !found.disabled)
                .filter(found => found.type !== "radio" || (!seen.has(found.name)
                  && seen.add(found.name))).length;
            }"""
        )
        page.evaluate("() => window.stops = new Set()")
        for _ in range(wanted + 60):
            page.keyboard.press("Tab")
            page.evaluate("() => window.stops.add(document.activeElement)")
        missed = page.evaluate(
            """() => [...document.querySelectorAll("a[href], button, select, input, summary")]
              .filter(found => found.checkVisibility() && !found.disabled)
              .filter(found => !window.stops.has(found))
              .filter(found => found.type !== "radio" || ![...window.stops].some(
                stop => stop.name === found.name))
              .map(found => found.outerHTML.slice(0, 120))"""
        )
        assert missed == []

    def test_what_has_the_focus_is_outlined(self, page):
        unseen = []
        for _ in range(40):
            page.keyboard.press("Tab")
            found = page.evaluate(
                """() => {
                  const stop = document.activeElement, shown = stop.closest("label") || stop;
                  const lined = [stop, shown, ...shown.querySelectorAll("*")].some(each => {
                    const style = getComputedStyle(each);
                    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
                  });
                  return lined ? "" : stop.outerHTML.slice(0, 120);
                }"""
            )
            unseen += [found] if found else []
        assert unseen == []

    def test_a_stage_is_left_out_with_the_space_bar(self, page):
        page.locator("input[name=stage][value=track]").focus()
        page.keyboard.press("Space")
        until_drawn(page, "speedup", "track", is_there=False)

    def test_the_scale_is_chosen_with_the_arrow_keys(self, page):
        page.locator("input[name=scale]:checked").focus()
        page.keyboard.press("ArrowRight")
        until(page, "() => window.pyscale.views.speedup.scale('y').type === 'log'")
