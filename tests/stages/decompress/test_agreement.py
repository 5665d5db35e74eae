"""Comparing outputs."""

from __future__ import annotations

import imagecodecs
import pytest


def test_two_runs_agree_whatever_their_times_and_numbers_of_threads(bench):
    one, two = (bench.done("run", output=name) for name in ("one", "two"))
    found = bench.agreement(one, two)
    assert (found.same, found.identical, found.score) == (True, False, 1.0)
    assert bench.agreement(one, bench.done("run", output="three", params={"threads": [3, 8]})).same


def test_other_pixels_do_not_agree(bench):
    one, two = (bench.done("run", output=f"seed{seed}", seed=seed) for seed in (0, 1))
    found = bench.agreement(one, two)
    assert (found.same, found.score) == (False, 0.0)


def test_a_codec_that_one_machine_lacks_does_not_agree(bench, monkeypatch):
    one = bench.done("run", output="one")
    monkeypatch.setattr(imagecodecs.JPEG2K, "available", False)
    two, three = (bench.done("run", output=name) for name in ("two", "three"))
    found = bench.agreement(one, two)
    assert (found.same, found.score) == (False, pytest.approx(6 / 7))
    assert bench.agreement(two, three).same
