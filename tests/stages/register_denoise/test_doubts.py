from __future__ import annotations

from typing import Any

from pyscale_stages.register_denoise.doubts import doubts
from pyscale_stages.register_denoise.params import RegisterDenoiseParams
from pyscale_stages.register_denoise.transforms import table_of

SHAPE = (100, 200)
GOOD: dict[str, Any] = {
    "status": "registered",
    "m00": 1.0,
    "m01": 0.0,
    "m10": 0.0,
    "m11": 1.0,
    "ty_px": 3.0,
    "tx_px": -60.0,
    "warp_max_px": 0.0,
    "warp_mean_px": 0.0,
    "correlation": 0.9,
}


def doubts_about(*rows: dict[str, Any]) -> list[str]:
    table = table_of([GOOD | {"frame": 5 + i} | row for i, row in enumerate(rows)])
    return doubts(table, SHAPE, RegisterDenoiseParams(reference_frame=2, channel=1))


def test_a_plausible_movie_raises_no_doubt() -> None:
    reference = {"status": "reference", "correlation": None}
    unregistered = {"status": "not_registered", "correlation": None}
    assert doubts_about(reference, {}, {}, unregistered) == []


def test_frames_of_one_value_are_named_with_the_channel() -> None:
    (said,) = doubts_about({}, {"status": "constant"}, {"status": "constant"})
    assert said.startswith("2 of 3 frames (the first is 6) have one value everywhere in channel 1")


def test_frames_unlike_the_reference_are_named() -> None:
    (said,) = doubts_about({}, {"correlation": 0.49})
    assert said.startswith("1 of 2 frames (the first is 6) have little likeness")
    assert "reference frame 2" in said


def test_transforms_that_no_drift_explains_are_named() -> None:
    for row in ({"ty_px": -51.0}, {"tx_px": 101.0}, {"m00": 1.5, "m11": 1.5}, {"m11": 0.4}):
        (said,) = doubts_about(row)
        assert "hardly drift" in said
