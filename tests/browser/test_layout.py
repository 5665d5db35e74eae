"""The page on a phone, in the dark, and on paper."""

import re
import zlib

import pytest
from playwright.sync_api import Error

PHONE = {"width": 375, "height": 812, "has_touch": True, "is_mobile": True}
REPORTS = ("full", "broken", "single", "weak", "table", "hostile", "grid", "machine", "machines")
REPORTS += ("loading", "loadings", "reconstruction")
MOST_BYTES = 8 << 20


def test_nothing_makes_the_page_scroll_sideways(report, visit):
    page = visit(report.page)
    for width in (1920, 1280, 768, 375, 320):
        page.set_viewport_size({"width": width, "height": 800})
        # Charts follow when they are told that their place has changed.
        try:
            page.wait_for_function(
                "width => document.documentElement.scrollWidth <= width", arg=width
            )
        except Error:
            pytest.fail(f"at {width} pixels: {too_wide(page, width)}")


def test_the_page_is_small(report):
    assert report.page.stat().st_size < MOST_BYTES


def test_on_a_phone_text_keeps_its_size(report, visit):
    """A page that is laid out wider than the phone is shown smaller."""
    page = visit(report.page, **PHONE)
    assert page.evaluate("() => [innerWidth, visualViewport.scale]") == [375, 1]
    small = page.evaluate(
        """() => [...document.querySelectorAll("main p, main td, main th, main li, main label")]
          .filter(found => found.checkVisibility() && found.textContent.trim())
          .filter(found => parseFloat(getComputedStyle(found).fontSize) < 11)
          .map(found => found.textContent.trim().slice(0, 60))"""
    )
    assert small == []


def test_on_a_phone_the_charts_are_as_wide_as_the_screen_allows(full, visit):
    page = visit(full.page, **PHONE)
    for svg in page.locator("[data-chart] .chart-plot svg").all():
        box = svg.bounding_box()
        assert box is not None
        assert 250 < box["width"] <= 375


def test_wide_tables_scroll_by_themselves_and_can_be_reached_by_keyboard(full, visit):
    page = visit(full.page, **PHONE)
    unreachable = page.evaluate(
        """() => [...document.querySelectorAll("main table")].filter(table => {
          for (let box = table; box.tagName !== "MAIN"; box = box.parentElement) {
            if (box.scrollWidth > box.clientWidth + 1 &&
                getComputedStyle(box).overflowX === "auto") return box.tabIndex !== 0;
          }
          return table.getBoundingClientRect().width > 375;
        }).length"""
    )
    assert unreachable == 0


def test_what_the_system_prefers_decides_between_light_and_dark(full, visit):
    light, dark = (
        brightness(visit(full.page, color_scheme=scheme), "body") for scheme in ("light", "dark")
    )
    assert light > 200
    assert dark < 60


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_of_charts_stands_out_from_the_page(full, visit, scheme):
    page = visit(full.page, color_scheme=scheme)
    paper = brightness(page, "body")
    inks = page.evaluate(
        """() => [...document.querySelectorAll("[data-chart] .chart-plot svg text")]
          .filter(text => text.textContent.trim() && text.checkVisibility())
          .map(text => [text.textContent, getComputedStyle(text).fill])"""
    )
    assert len(inks) > 50
    faint = [text for text, fill in inks if abs(luma(fill) - paper) < 80]
    assert faint == []


def test_on_paper_every_chart_is_drawn_on_white(full, visit, tmp_path):
    page = visit(full.page, color_scheme="dark")
    file = tmp_path / "report.pdf"
    page.pdf(path=file, format="A4")
    for chart in page.evaluate("() => Object.keys(window.pyscale.data.charts)"):
        assert page.locator(f"[data-chart={chart}] .chart-plot svg").count() >= 1
    assert n_pages(file) > 2
    page.emulate_media(media="print")
    assert brightness(page, "body") > 200
    hidden = page.evaluate(
        """() => [...document.querySelectorAll("[data-chart] .chart-plot svg")]
          .filter(svg => !svg.checkVisibility() || svg.getBoundingClientRect().height < 50)
          .length"""
    )
    assert hidden == 0


def test_on_paper_no_chart_and_no_table_is_wider_than_the_sheet(full, visit):
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


def test_on_paper_no_control_is_left(full, visit):
    page = visit(full.page)
    page.emulate_media(media="print")
    left = page.evaluate(
        """() => [...document.querySelectorAll("button, select, nav, input")]
          .filter(found => found.checkVisibility({ visibilityProperty: true }))
          .map(found => found.outerHTML.slice(0, 120))"""
    )
    assert left == []


def too_wide(page, width):
    """What reaches beyond the screen, for the message of a failure."""
    return page.evaluate(
        """width => [...document.querySelectorAll("body *")]
          .filter(found => found.getBoundingClientRect().right > width + 1)
          .map(found => found.outerHTML.slice(0, 120)).slice(0, 5)""",
        width,
    )


def brightness(page, selector):
    color = page.evaluate(
        "selector => getComputedStyle(document.querySelector(selector)).backgroundColor", selector
    )
    return luma(color)


def luma(color):
    """Brightness of a CSS color, 0 to 255."""
    red, green, blue = (float(part) for part in re.findall(r"[\d.]+", color)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def n_pages(pdf):
    """Count the pages of a PDF, whose objects may be packed."""
    data = pdf.read_bytes()
    packed = re.findall(rb"stream\r?\n(.*?)endstream", data, re.DOTALL)
    texts = [data]
    for stream in packed:
        try:
            texts.append(zlib.decompress(stream))
        except zlib.error:
            continue
    return sum(len(re.findall(rb"/Type\s*/Page\b", text)) for text in texts)
