from __future__ import annotations

from typing import Any

import pytest

from pyscale_stages.register_denoise.ants_calls import Correction
from pyscale_stages.register_denoise.params import RegisterDenoiseParams
from pyscale_stages.register_denoise.transforms import (
    LinearTransform,
    doubts,
    is_doubtful,
    table_of,
)

SHAPE = (100, 200)


def found(correlation: float = 0.9, unmoved: float = 0.6, **linear: float) -> Correction:
    return Correction(
        LinearTransform(**linear), correlation=correlation, correlation_unmoved=unmoved
    )


def doubts_about(*statuses: str) -> list[str]:
    rows: list[dict[str, Any]] = [
        {"frame": 5 + i, "status": status} for i, status in enumerate(statuses)
    ]
    found = doubts(table_of(rows), RegisterDenoiseParams(reference_frame=2, channel=1))
    return [warning.sentence for warning in found if warning.is_said]


@pytest.mark.parametrize(
    ("correction", "doubtful"),
    [
        (found(ty_px=3.0, tx_px=-60.0), False),
        # Unlike the reference, and more alike unmoved.
        (found(correlation=0.49, unmoved=0.1), True),
        (found(correlation=0.7, unmoved=0.8), True),
        # No drift explains such a transform.
        (found(ty_px=-51.0), True),
        (found(tx_px=101.0), True),
        (found(m00=1.5, m11=1.5), True),
        (found(m11=0.4), True),
    ],
)
def test_only_a_plausible_drift_that_makes_frames_alike_is_believed(correction, doubtful):
    assert is_doubtful(correction, SHAPE) == doubtful


def test_a_plausible_movie_raises_no_doubt():
    assert doubts_about("reference", "registered", "registered", "not_registered") == []


def test_frames_of_one_value_are_named_with_the_channel():
    (said,) = doubts_about("registered", "constant", "constant")
    assert said.startswith("2 of 3 frames were not moved")
    assert "one value everywhere in channel 1" in said


def test_doubtful_frames_are_named_with_the_reference():
    (said,) = doubts_about("registered", "doubtful")
    assert said.startswith("1 of 2 frames were not moved")
    assert "reference frame 2" in said
