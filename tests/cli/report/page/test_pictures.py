"""Pictures show what arrays hold, in few bytes."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from pyscale.report.page.pictures import (
    MOST_BYTES,
    OUTLINE,
    SIDE_PX,
    View,
    cropped,
    encoded,
    frame_picture,
    outlined,
    tracked,
)


@pytest.mark.parametrize(
    ("shape", "size", "is_part"),
    [
        ((96, 96), (SIDE_PX, SIDE_PX), False),
        ((100, 200), (SIDE_PX, SIDE_PX // 2), False),
        ((2048, 2048), (SIDE_PX, SIDE_PX), True),
    ],
)
def test_small_frames_are_whole_and_of_large_ones_the_middle_is_shown(shape, size, is_part):
    view = View(shape)
    assert (view.size_px, view.is_part) == (size, is_part)
    assert frame_picture(np.zeros(shape), view).size == size


def test_brighter_pixels_are_brighter_whatever_their_unit():
    frame = np.linspace(1e-3, 2e-3, 96 * 96).reshape(96, 96)
    grey = np.asarray(frame_picture(frame, View(frame.shape)))[..., 0]
    assert grey[0].max() < 10 < 245 < grey[-1].min()


def test_an_outline_lies_on_the_edge_of_its_label_and_nowhere_else():
    labels = np.zeros((96, 96), np.uint16)
    labels[32:64, 32:64] = 7
    view = View(labels.shape)
    drawn = np.asarray(outlined(frame_picture(labels * 0, view), labels, view))
    rows, columns = np.nonzero((drawn == OUTLINE).all(axis=-1))
    assert {rows.min(), columns.min()} == {96}
    assert {rows.max(), columns.max()} == {192}
    assert not (drawn[100:190, 100:190] == OUTLINE).all(axis=-1).any()


def test_crops_are_squares_of_the_middle_of_the_whole_frame():
    drawn = np.asarray(cropped(np.zeros((576, 1152)), [288, 96]))
    assert drawn.shape[:2] == (SIDE_PX // 2, SIDE_PX)
    inked = (drawn == OUTLINE).all(axis=-1)
    # Four pixels of the frame are one of the picture.
    for side, top, left in ((72, 36, 108), (24, 60, 132)):
        assert inked[top : top + side, left + side - 1].all()
        assert inked[top + side - 1, left : left + side].all()
    # Numbers stand within their crop, and nothing beside.
    assert drawn[37:46, 109:131].any()
    assert not drawn[:, :108].any()


def test_numbers_of_crops_that_lie_close_are_left_out():
    sizes = [(288,), (288, 284)]
    close, closer = (np.asarray(cropped(np.zeros((288, 288)), sides))[:20] for sides in sizes)
    changed = (close != closer).any(axis=-1)
    # The second outline, and no number below it.
    assert changed[2, 20:286].all()
    assert not changed[12:, 3:280].any()


def test_a_track_is_drawn_from_point_to_point():
    view = View((96, 96))
    black = frame_picture(np.zeros((96, 96)), view)
    drawn = np.asarray(tracked(black, [np.array([[10.0, 10.0], [10.0, 50.0]])], view))
    inked = drawn.any(axis=-1)
    assert inked[31, 40:150].all()
    assert not inked[60:].any()


def test_noise_stays_small_too():
    noise = np.random.default_rng(0).random((512, 512))
    file = base64.b64decode(encoded(frame_picture(noise, View(noise.shape))))
    assert len(file) <= MOST_BYTES
    assert Image.open(io.BytesIO(file)).size == (SIDE_PX, SIDE_PX)
