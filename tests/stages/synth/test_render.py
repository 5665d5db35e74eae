import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import ndimage

from pyscale_stages.synth.cells import MIN_VISIBLE_PX, cover, grown_cells, label_image
from pyscale_stages.synth.movie import render_examples
from pyscale_stages.synth.params import SynthParams


@st.composite
def small_params(draw):
    def between(low, high):
        return draw(st.floats(low, high, allow_nan=False))

    values = {
        "seed": draw(st.integers(0, 2**32 - 1)),
        "frames": draw(st.integers(1, 3)),
        "height_px": draw(st.integers(40, 100)),
        "width_px": draw(st.integers(40, 100)),
        "cell_types": draw(st.sampled_from((1, 2))),
        "cells": draw(st.integers(1, 25)),
        "density_profile": draw(st.sampled_from(("constant", "ramp", "burst"))),
        "density_peak": between(0.05, 4),
        "radius_px": between(3, 10),
        "radius_spread": between(0, 0.25),
        "elongation": between(1, 2),
        "irregularity": between(0, 0.15),
        "speed_px": between(0, 10),
        "persistence": between(0, 0.99),
        "division_rate": between(0, 0.2),
        "max_drift_px": between(0, 20),
        "psf_sigma_px": between(0.3, 5),
        "background_photons": between(0, 500),
        "brightness_spread": between(0, 1),
        "illumination_loss": between(0, 0.95),
    }
    try:
        return SynthParams(**values)
    except ValidationError:
        return SynthParams(**values | {"cells": 1, "density_peak": 1.0})


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_params())
def test_any_accepted_parameters_give_whole_cells_and_an_image(params):
    frames = list(render_examples(params))
    assert len(frames) == params.frames
    for image, labels in frames:
        assert image.shape == labels.shape == (params.cell_types, *params.shape_yx)
        assert image.dtype == labels.dtype == np.uint16
        assert image.std() > 0
        sizes = np.bincount(labels.ravel())[1:]
        assert (sizes[sizes > 0] >= MIN_VISIBLE_PX).all()
        # One track id never names cells of both channels.
        if params.cell_types == 2:
            shared = set(np.unique(labels[0])) & set(np.unique(labels[1]))
            assert shared <= {0}


def test_labels_are_the_disc_of_a_round_cell_and_move_whole_with_a_whole_pixel_drift():
    params = SynthParams(elongation=1, irregularity=0, radius_spread=0, radius_px=10.01)
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:64, :64]
    for centre in ((31.0, 31.0), (30.37, 32.81)):
        cells = grown_cells(params, rng, np.array([centre]), first_id=4)
        labels = label_image(cells, cover(cells, np.zeros(2), (64, 64)), (64, 64))
        disc = (y - centre[0]) ** 2 + (x - centre[1]) ** 2 < 10.01**2
        np.testing.assert_array_equal(labels, np.where(disc, 4, 0))
    params = SynthParams()
    cells = grown_cells(
        params, np.random.default_rng(2), np.random.default_rng(1).uniform(40, 160, (40, 2)), 1
    )
    still = label_image(cells, cover(cells, np.zeros(2), (200, 200)), (200, 200))
    moved = label_image(cells, cover(cells, np.array([7.0, -4.0]), (200, 200)), (200, 200))
    np.testing.assert_array_equal(moved, np.roll(still, (7, -4), axis=(0, 1)))


def test_every_camera_effect_can_be_seen_in_the_counts():
    dark = SynthParams(
        frames=1, cells=1, cell_types=1, signal_photons=1e-6, background_photons=0,
        read_noise_electrons=3, gain_counts=2, offset_counts=150,
    )  # fmt: skip
    counts = next(render_examples(dark))[0].astype(float)
    assert counts.mean() == pytest.approx(150, abs=0.5)
    # Median noise 3 electrons at 2 counts each; hot pixels lift the mean above it.
    assert 6 < counts.std() < 8
    bright = dark.model_copy(update={"background_photons": 400.0, "illumination_loss": 0.0})
    shot = next(render_examples(bright))[0].astype(float)
    assert shot.mean() == pytest.approx(150 + 800, rel=0.01)
    assert shot.std() == pytest.approx(np.hypot(2 * 20, counts.std()), rel=0.05)
    uneven = bright.model_copy(update={"illumination_loss": 0.6})
    light = ndimage.uniform_filter(next(render_examples(uneven))[0][0].astype(float), 41) - 150
    assert 0.3 < light.min() / light.max() < 0.6
