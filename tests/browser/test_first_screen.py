"""A tester who sees nothing but the first screen can answer five questions.

What the answers say is held by `tests/golden` and by the tests of the bottom line.
"""

import pytest

from atleastone import some
from pyscale.report.curves import curves

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
REPORTS = ("full", "broken", "single", "weak", "table")

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


@pytest.fixture
def own(report):
    return curves(report.results.configurations)


def test_every_answer_is_seen_without_scrolling(page, own):
    for question, answer in ANSWERS.items():
        for stage in [curve.name for curve in own] if answer in FOR_EACH_STAGE else [None]:
            assert text_of(page, answer, stage), question
            assert_seen(answers(page, answer, stage))
    rows = [row.inner_text() for row in page.locator(".overview tbody tr").all()]
    assert [row.split()[0] for row in rows[: len(own)]] == [curve.name.split()[0] for curve in own]
    assert_seen(page.locator(".bottom"))
    assert page.evaluate("scrollY") == 0


def test_charts_of_speedup_and_of_lost_time_begin_on_the_first_screen(page):
    for figure in some(page.locator(".looked figure").all()):
        assert figure.locator("figcaption").evaluate(SEEN)["bottom"] < 800


@pytest.mark.parametrize(
    ("name", "answers", "chart", "title"),
    [
        ("grid", "ran hardware speedup limit trust", "sizeratio", ""),
        (
            "machines",
            "ran hardware nodes storage decoding compute trust",
            "machinenodes",
            "what the machine can do",
        ),
        (
            "loading",
            "ran hardware feeds settings given-up trust",
            "loaderpareto",
            "whether storage feeds the GPU",
        ),
        (
            "reconstruction",
            "ran hardware faster limit request agrees image trust",
            "components",
            "which component scales",
        ),
    ],
)
def test_the_first_screen_answers_the_questions_of_its_kind(
    request, visit_once, name, answers, chart, title
):
    page = visit_once(request.getfixturevalue(name).page)
    for answer in answers.split():
        assert_seen(page.locator(f"[data-answer={answer}]").first)
    assert_seen(page.locator(f"[data-chart={chart}] .chart-plot svg").first)
    if name in {"machines", "loading"}:
        for absent in ("request", "speedup", "limit"):
            assert page.locator(f"[data-answer={absent}]").count() == 0
    assert title in page.title()
