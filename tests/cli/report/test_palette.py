"""Colours that stand beside each other are told apart in grey and by any colour vision."""

import itertools

import numpy as np
import pytest

from atleastone import some
from pyscale.analysis.workers import TASK_PHASES
from pyscale.report import palette

# Machado, Oliveira and Fernandes (2009), IEEE TVCG 15:1291, severity 1, on linear RGB.
VISION = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
# From linear sRGB to CIE XYZ under D65, and the white of it.
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = TO_XYZ.sum(axis=1)


def linear(code):
    value = np.array([int(code[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    x, y, z = np.cbrt(np.maximum(TO_XYZ @ np.clip(rgb, 0, 1) / WHITE, (6 / 29) ** 3))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def lightness(code):
    return lab(linear(code))[0]


def seen_difference(one, other, matrix):
    return float(np.linalg.norm(lab(matrix @ linear(one)) - lab(matrix @ linear(other))))


STACKS = {
    "in an image": set(),
    "natively": {"container_start"},
    "one worker": {"container_start", "merge", "idle"},
    "no model": {"container_start", "model_load"},
    "no imports to speak of": {"container_start", "python_start", "model_load"},
}
"""Parts that a bar may lack."""
CALLS = {"on a GPU": set(), "on a CPU": {1, 3}, "without a size model": {10}}
"""Places of parts that a call may lack."""
PARTS = {part: color for part, color in palette.PARTS.items() if part not in {"busy", "queue"}}
OF_A_CALL = (*palette.CALL_PARTS, palette.PARTS["unattributed"])
BARS = {
    **{
        name: [color for part, color in PARTS.items() if part not in absent]
        for name, absent in STACKS.items()
    },
    **{
        f"a call {name}": [color for place, color in enumerate(OF_A_CALL) if place not in absent]
        for name, absent in CALLS.items()
    },
}
"""Colours of each bar, as they lie on each other."""


def test_every_part_of_the_time_has_a_colour():
    assert set(palette.PARTS) >= {*TASK_PHASES, "unattributed", "idle", "busy", "queue"}


@pytest.mark.parametrize("bar", BARS.values(), ids=BARS)
def test_parts_that_touch_differ_in_grey_and_by_any_colour_vision(bar):
    for one, other in some(itertools.pairwise(bar)):
        assert abs(lightness(one) - lightness(other)) >= 10, (one, other)
        for name, matrix in VISION.items():
            assert seen_difference(one, other, matrix) >= 15, (one, other, name)


@pytest.mark.parametrize("matrix", VISION.values(), ids=VISION)
@pytest.mark.parametrize(
    "colours",
    [{color for part, color in palette.PARTS.items() if part != "queue"}, OF_A_CALL],
    ids=["of a bar", "of a call"],
)
def test_any_two_parts_differ_by_any_colour_vision(colours, matrix):
    for one, other in some(itertools.combinations(sorted(colours), 2)):
        assert seen_difference(one, other, matrix) >= 8, (one, other)


def test_every_mark_is_seen_on_white_and_curves_have_a_shape_each():
    for color in (palette.SINGLE, palette.IDEAL, palette.INVALID, *palette.CURVES):
        assert lightness(color) < 75, color
    assert len(palette.CURVES) == len(palette.SHAPES) == len(set(palette.SHAPES))
