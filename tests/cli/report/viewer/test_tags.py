"""The likely bottleneck in a word, as sure as it is known."""

import pytest

from madeupadvice import cause, limits
from pyscale.report import limits as sentences
from pyscale.report.viewer.stages import tag

PARTS = {"compute": 6.0, "import": 3.0, "idle": 1.0}


def limits_of(*causes):
    """Causes by code, efficiency without, and share of resamples in which it is the first."""
    return limits(*(cause(*told) for told in causes), efficiency=0.5)


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
    found = limits_of(("imbalance", 0.9, share), ("start-up", 0.8, rest))
    shown = tag(found, PARTS, 4, "cpu")
    assert shown.text == said
    # The explanation is what the report says.
    assert shown.why == " ".join(sentences.sentences(found))


SMALL = limits_of(("imbalance", 0.51, 0.99))


@pytest.mark.parametrize(
    ("found", "parts", "device", "said", "why"),
    [
        (None, PARTS, "cpu", "cores", ["compute (60 %)"]),
        # Where no cause is large the largest part is named too.
        (SMALL, PARTS | {"read": 20.0}, "cpu", "reading", ["any single cause", "storage"]),
        # Computing on a GPU depends on it.
        (None, PARTS, "cuda", "GPU", []),
        (None, PARTS, None, "cores", []),
    ],
)
def test_without_a_main_cause_the_largest_part_is_named_with_its_share(
    found, parts, device, said, why
):
    shown = tag(found, parts, 4 if found else 1, device)
    assert shown.text == said
    assert all(words in shown.why for words in why)


@pytest.mark.parametrize("parts", [{}, {"busy": 9.0}, {"compute": 0.0}])
def test_where_no_phase_is_known_there_is_no_tag(parts):
    assert tag(None, parts, 1, "cpu") is None
