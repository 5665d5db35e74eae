"""Results side by side: a base is chosen, rows open, what limits is explained."""

import csv
import io
import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from atleastone import some
from browser.drawn import downloaded

NUMBERS = """
() => [...document.querySelectorAll(".viewer data[data-table=viewer]")].map(found => ({
  key: found.dataset.key, column: found.dataset.column,
  value: found.getAttribute("value"), text: found.textContent,
}))
"""
KEY = ("side", "stage", "device", "workers", "part")


@pytest.fixture
def compared(several, visit_once):
    """Two runs of equal work, of which the second is slower, against the first again at the end."""
    page = visit_once(several)
    yield page
    choose_base(page, 0)


@pytest.fixture
def page(full, visit_once):
    """A run beside what others measured."""
    return visit_once(full.page)


def given(page, form):
    return downloaded(page, f"button[data-viewer={form}]")[1].decode()


def rows_of(text):
    rows = csv.DictReader(io.StringIO(text))
    return {"|".join(row[column] for column in KEY): row for row in rows}


def numbers(page):
    found = page.evaluate(NUMBERS)
    assert found
    return found


def choose_base(page, place):
    page.locator(f"input[name=viewer-base][value='{place}']").check()


def speedups(page, side):
    """Speedups of whole stages of one column, by stage and N."""
    found = {}
    for number in numbers(page):
        own, stage, _, workers, part = number["key"].split("|")
        if (own, part, number["column"]) == (side, "", "speedup"):
            found[f"{stage}|{workers}"] = float(number["value"])
    return found


def test_every_number_is_that_of_the_table_that_is_downloaded(page):
    rows = rows_of(given(page, "csv"))
    for number in some(numbers(page)):
        assert float(number["value"]) == float(rows[number["key"]][number["column"]]), number


def test_the_file_beside_a_comparison_holds_the_same(compared, several):
    rows = rows_of((several.parent / "comparison.csv").read_text(encoding="utf-8"))
    for number in some(numbers(compared)):
        assert float(number["value"]) == float(rows[number["key"]][number["column"]]), number


def test_all_stages_open_at_once_and_one_that_is_not_chosen_leaves_the_viewer(page):
    parts = page.locator(".viewer tr.part")
    assert parts.count() > 10
    page.locator(".viewer button.expand-all").click()
    expect(page.locator(".viewer tr.part:visible")).to_have_count(parts.count())
    page.locator("input[name=stage][value=track]").uncheck()
    expect(page.locator(".viewer tr[data-stage=track]:visible")).to_have_count(0)
    page.locator("input[name=stage][value=track]").check()
    expect(page.locator(".viewer tr[data-stage=track]").first).to_be_visible()
    page.locator(".viewer button.expand-all").click()
    expect(parts.first).to_be_hidden()


def test_the_other_base_turns_the_speedups_round_and_downloads_are_against_it(compared):
    over_first = speedups(compared, "B")
    assert len(over_first) >= 8
    assert all(value < 1 for value in over_first.values())
    assert speedups(compared, "A") == {}
    choose_base(compared, 1)
    over_second = speedups(compared, "A")
    assert speedups(compared, "B") == {}
    assert over_second == pytest.approx({key: 1 / value for key, value in over_first.items()})
    rows = rows_of(given(compared, "csv")).values()
    assert {row["base"] for row in rows} == {"B"}
    found = json.loads(given(compared, "json"))
    assert found["base"] == "B"
    assert len(found["times"]) == len(rows)


def test_other_work_is_not_compared_and_the_reason_is_told(page):
    """What others measured had another movie: their times say nothing about these."""
    assert all(speedups(page, side) == {} for side in "ABC")
    why = page.locator(".viewer td.speedup [data-why]").first
    why.focus()
    tip = page.locator("#viewer-tip")
    expect(tip).to_be_visible()
    assert "work" in tip.inner_text()
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_a_comparison_leads_to_each_report(compared):
    for link in some(compared.locator("ul.runs a").all()):
        file = link.evaluate("link => link.href")
        assert Path(file.removeprefix("file://")).is_file()


def test_the_verdict_is_on_the_first_screen_with_the_table_that_it_sums_up(compared):
    (told,) = compared.locator("[data-answer=compared]").all()
    box = told.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 800
    assert "New is slower for every configuration" in told.inner_text()
    words = compared.locator("#verdict td.text:has-text('worse')")
    assert words.count() == 8
