"""The gate: distributed equals serial."""

from __future__ import annotations

import enginerank
from pyscale_stages.reconstruction import GRADIENT_TOLERANCE


def test_an_uncut_image_that_does_not_fit_is_told_and_fails_nothing() -> None:
    gate = enginerank.both_ended()[0]["gate"]
    assert "one rank alone has no memory for the uncut image (memory ran out" in gate["why_not"]
    assert (gate["denoiser_interior"], gate["denoiser_border"]) == (None, None)
    assert gate["gradient"] < GRADIENT_TOLERANCE


def test_an_uncut_image_larger_than_the_nodes_memory_is_not_tried() -> None:
    gate = enginerank.both_ended()[0]["gate_of_many_channels"]
    assert "no memory for the uncut image (about " in gate["why_not"]
    assert " GiB are left)" in gate["why_not"]


def test_tiles_too_small_for_the_networks_view_have_no_interior() -> None:
    gate = enginerank.both_ended()[0]["gate"]
    assert gate["interior_px"] == 0
    assert "tiles of 16 px with a margin of 8 px hold all that" in gate["why_not"]


def test_ranks_that_compute_something_else_differ() -> None:
    gate = enginerank.both_ended()[0]["gate_of_another_solver"]
    assert gate["gradient"] > 0.01
    assert gate["denoiser_border"] > 0.01


def test_the_first_rank_alone_compares() -> None:
    first, second = enginerank.both_ended()
    assert first["gate"] is not None
    assert second["gate"] is None
