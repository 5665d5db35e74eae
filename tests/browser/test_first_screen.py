"""A tester who sees nothing but the first screen can answer five questions."""

import re

import pytest

from browser.drawn import downloaded
from pyscale.report.curves import curves
from pyscale.report.wording import gib, ratio

ANSWERS = {
    "What should I request for each stage?": "request",
    "What limits it?": "limit",
    "Can I trust it?": "trust",
    "How much faster is it?": "speedup",
    "What ran?": "ran",
    "On what hardware?": "hardware",
}
"""Where the answer to each question stands: elements with this `data-answer`."""
FOR_EACH_STAGE = {"request", "limit", "trust", "speedup"}
REPORTS = ("full", "broken", "thin", "single", "weak", "table")

SEEN = """
element => {
  const box = element.getBoundingClientRect();
  const x = box.left + Math.min(box.width / 2, 40);
  const at = document.elementFromPoint(x, box.top + box.height / 2);
  return {
    top: box.top, bottom: box.bottom, left: box.left, right: box.right,
    onTop: at !== null && (element.contains(at) || at.contains(element)),
  };
}
"""
"""Where an element stands on the screen, and whether something hides it."""


def answers(page, answer, stage=None):
    found = page.locator(f"[data-answer={answer}]")
    if stage is None:
        return found
    return found.and_(page.locator(f"[data-stage={quoted(stage)}]"))


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def text_of(page, answer, stage=None):
    found = answers(page, answer, stage)
    assert found.count() == 1, f"{found.count()} elements answer {answer} for {stage}"
    return " ".join(found.inner_text().split())


def assert_seen(found):
    seen = found.evaluate(SEEN)
    assert 0 <= seen["left"] < seen["right"] <= 1280, seen
    assert 0 <= seen["top"] < seen["bottom"] <= 800, seen
    assert seen["onTop"], seen


def choice_of(report, curve):
    """Which N the analysis advises for a curve."""
    choices = [one for one in report.results.choices if curve.owns(one)]
    (choice,) = (one for one in choices if one.objective == "knee")
    return choice


@pytest.fixture
def own(report):
    return curves(report.results.configurations)


def test_every_answer_is_seen_without_scrolling(page, own):
    for question, answer in ANSWERS.items():
        for stage in [curve.name for curve in own] if answer in FOR_EACH_STAGE else [None]:
            assert text_of(page, answer, stage), question
            assert_seen(answers(page, answer, stage))
    assert page.evaluate("scrollY") == 0


def test_charts_of_speedup_and_of_lost_time_begin_on_the_first_screen(page):
    for figure in page.locator(".looked figure").all():
        assert figure.locator("figcaption").evaluate(SEEN)["bottom"] < 800


def test_what_to_request_is_what_the_analysis_advises(page, report, own):
    for curve in own:
        text = text_of(page, "request", curve.name)
        choice = choice_of(report, curve)
        if choice.workers is None:
            assert not re.search(r"N = \d", text)
            assert choice.refusal
            assert choice.refusal in text
            continue
        assert re.search(rf"N = {choice.workers}\b", text)
        for asked in report.results.requests:
            if curve.owns(asked):
                assert asked.workers == choice.workers
                assert f"{asked.time_s // 60} min" in text
                if asked.memory_bytes is not None:
                    assert f"{gib(asked.memory_bytes)} GiB" in text


def test_the_speedup_is_that_at_the_n_to_request_with_its_interval(page, report, own):
    for curve in own:
        choice = choice_of(report, curve)
        valid = [row for row in curve.timed[1:] if not row["invalid"]]
        row = next((row for row in valid if row["workers"] >= (choice.workers or 1)), None)
        if choice.workers is None or row is None:
            assert "None" in text_of(page, "speedup", curve.name)
            continue
        assert f"at N = {row['workers']}" in text_of(page, "speedup", curve.name)
        assert ratio(row["speedup"]) in text_of(page, "speedup", curve.name)
        inside = answers(page, "speedup", curve.name).locator("data").all()
        shown = {found.get_attribute("data-column"): found for found in inside}
        for column in ("speedup", "speedup_low", "speedup_high"):
            if row[column] is not None:
                assert float(shown[column].get_attribute("value") or "") == row[column]


def test_what_limits_is_what_the_analysis_found_there(page, report, own):
    for curve in own:
        text = text_of(page, "limit", curve.name)
        choice = choice_of(report, curve)
        invalid = {row["workers"] for row in curve.rows if row["invalid"]}
        near = sorted(
            (
                one
                for one in report.results.limits
                if curve.owns(one)
                and one.workers not in invalid
                and one.workers >= (choice.workers or 0)
            ),
            key=lambda one: one.workers,
        )
        if not near:
            assert text.startswith("Not known")
            continue
        if near[0].workers != choice.workers:
            assert f"at N = {near[0].workers}" in text
        if near[0].main is not None:
            assert ratio(near[0].main.efficiency) in text
            assert ratio(near[0].efficiency) in text


def test_a_run_without_any_doubt_can_be_trusted_and_no_other(page, report, own):
    for curve in own:
        flags = {flag for row in curve.rows for flag in row["flags"]}
        compared = all(row["agreement"] is not None for row in curve.timed[1:])
        if not flags and compared and len(curve.timed) > 1:
            assert trust(page, curve) == "Yes"
        if any(row["invalid"] for row in curve.rows):
            assert trust(page, curve) in {"With care", "No"}


def trust(page, curve):
    return text_of(page, "trust", curve.name)


def test_a_run_says_what_ran_and_on_what(full, visit_once):
    page = visit_once(full.page)
    context = full.results.context
    assert context.run_id
    subject = page.locator("#verdict .masthead").inner_text()
    for words in (context.run_id, "pipeline", "cancer-migration", "96 frames"):
        assert words in subject
    ran = text_of(page, "ran")
    for words in ("segment", "N = 1, 2 and 4", "6"):
        assert words in ran
    hardware = text_of(page, "hardware")
    (node,) = context.nodes
    assert node.stamp["cpu"]["model"] in hardware
    assert "node1" in hardware


def test_the_worst_of_a_broken_run_is_said_with_its_n(broken, visit_once):
    page = visit_once(broken.page)
    doubts = page.locator("[data-answer=care], [data-answer=against]").all_inner_texts()
    assert "track" in " ".join(doubts).lower()
    assert "N = 4" in " ".join(doubts)
    assert "N = 4" in text_of(page, "outputs")
    assert "N = 4" not in text_of(page, "request", "track")
    assert text_of(page, "trust", "segment").startswith("Yes")
    assert not text_of(page, "trust", "track").startswith("Yes")


def test_few_trials_are_noted_and_show_their_range(thin, visit_once):
    page = visit_once(thin.page)
    note = page.locator("#verdict > .note").inner_text()
    assert "Ranges: shortest to longest of fewer than 6 trials." in note
    assert "unknown" in text_of(page, "confidence").lower()
    first = thin.results.configurations.row(0, named=True)
    shown = page.locator(".overview [data-column=wall_s_max]").first.get_attribute("value")
    assert float(shown or "") == first["wall_s_max"]


def test_times_of_stages_and_of_their_sum_stand_in_rows(full, visit_once):
    page = visit_once(full.page)
    rows = [row.inner_text() for row in page.locator(".overview tbody tr").all()]
    assert [row.split()[0] for row in rows[:-1]] == [
        curve.name for curve in curves(full.results.configurations)
    ]
    assert page.locator(".overview thead").inner_text().count("N = ") == 3
    assert text_of(page, "outputs")
    assert_seen(page.locator(".bottom"))


def test_a_chart_is_saved_as_it_stands(full, visit_once):
    page = visit_once(full.page, color_scheme="dark")
    for kind, begins in (("PNG", b"\x89PNG"), ("SVG", b"<svg ")):
        name, file = downloaded(page, f"button[aria-label='Save as {kind}: Speedup over workers']")
        assert name == f"speedup.{kind.lower()}"
        assert file.startswith(begins)
        assert b"var(" not in file
