"""The likely bottleneck in a word, as sure as it is known."""

import pytest

from pyscale.analysis.causes import Cause, Limits
from pyscale.report import limits as sentences
from pyscale.report.viewer.stages import tag

PARTS = {"compute": 6.0, "import": 3.0, "idle": 1.0}


def limits(*causes, **changes):
    """Causes by code, efficiency without, and share of resamples in which it is the first."""
    found = {
        "suite": "demo",
        "stage": "segment",
        "device": "cpu",
        "workers": 4,
        "baseline_workers": 1,
        "trials": 6,
        "efficiency": 0.5,
        "causes": tuple(
            Cause(code=code, efficiency=best, gain=best - 0.5, seconds=2.0, share_first=share)
            for code, best, share in causes
        ),
        "not_measured": (),
        "inflation": None,
        "cpu_growth": None,
        "beside": (),
    }
    return Limits.model_validate(found | changes)


def text(*arguments):
    found = tag(*arguments)
    return found.text


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.99, "imbalance"),
        (0.85, "probably imbalance"),
        (0.5, "imbalance or start-up"),
        (None, "imbalance?"),
    ],
)
def test_the_main_cause_is_named_as_surely_as_it_is_known(share, said):
    rest = None if share is None else 1 - share
    found = limits(("imbalance", 0.9, share), ("start-up", 0.8, rest))
    assert text(found, PARTS, 4, "cpu") == said


def test_the_explanation_is_what_the_report_says():
    found = limits(("imbalance", 0.9, 0.99))
    shown = tag(found, PARTS, 4, "cpu")
    assert shown.why == " ".join(sentences.sentences(found))


def test_at_the_base_case_the_largest_part_is_named_with_its_share():
    shown = tag(None, PARTS, 1, "cpu")
    assert shown.text == "cores"
    assert "compute (60 %)" in shown.why


def test_where_no_cause_is_large_the_largest_part_is_named_too():
    found = limits(("imbalance", 0.51, 0.99))
    shown = tag(found, PARTS | {"read": 20.0}, 4, "cpu")
    assert shown.text == "reading"
    assert "any single cause" in shown.why
    assert "storage" in shown.why


def test_computing_on_a_gpu_depends_on_it():
    assert text(None, PARTS, 1, "cuda") == "GPU"
    assert text(None, PARTS, 1, None) == "cores"


@pytest.mark.parametrize("parts", [{}, {"busy": 9.0}, {"compute": 0.0}])
def test_where_no_phase_is_known_there_is_no_tag(parts):
    assert tag(None, parts, 1, "cpu") is None
