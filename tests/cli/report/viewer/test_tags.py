"""The likely bottleneck in a word, as sure as it is known."""

import pytest

from madeupadvice import cause, limits
from pyscale.report import sentences
from pyscale.report.viewer.build import tag
from refusals import assert_said

PARTS = {"compute": 6.0, "import": 3.0, "idle": 1.0}


def limits_of(*causes):
    """Causes by code, efficiency without, and share of resamples in which it is the first."""
    return limits(*(cause(*told) for told in causes), efficiency=0.5)


def test_the_main_cause_is_named_as_surely_as_it_is_known():
    for share in (0.99, 0.85, 0.5, None):
        rest = None if share is None else 1 - share
        found = limits_of(("imbalance", 0.9, share), ("start-up", 0.8, rest))
        text, why = tag(found, PARTS, 4)
        # The explanation is what the report says.
        assert why == " ".join(sentences.limits([found]))
        assert_said(text)


SMALL = limits_of(("imbalance", 0.51, 0.99))


def test_without_a_main_cause_the_largest_part_is_named_with_its_share():
    # Where no cause is large the largest part is named too.
    for found, parts in ((None, PARTS), (SMALL, PARTS | {"read": 20.0})):
        assert_said(": ".join(tag(found, parts, 4 if found else 1)))


@pytest.mark.parametrize("parts", [{}, {"busy": 9.0}, {"compute": 0.0}])
def test_where_no_phase_is_known_there_is_no_tag(parts):
    assert tag(None, parts, 1) is None
