import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from pyscale_stages.errors import ResourceExhausted
from pyscale_stages.layout import Layout
from pyscale_stages.measure import cgroups
from pyscale_stages.movie import Movie
from pyscale_stages.segment import models, stage
from pyscale_stages.segment.params import SegmentParams

GIB = 2**30


@pytest.mark.parametrize(
    ("group_gib", "available_gib", "usable_gib"), [(3, 5, 3), (7, 5, 5), (None, 5, 5)]
)
def test_a_task_can_have_what_its_group_and_the_machine_both_allow(
    group_gib, available_gib, usable_gib, monkeypatch
):
    group = cgroups.Limits(version="2", memory_bytes=group_gib and group_gib * GIB, cpus=None)
    machine = SimpleNamespace(available=available_gib * GIB)
    monkeypatch.setattr(cgroups, "limits", lambda: group)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: machine)
    assert cgroups.usable_bytes() == usable_gib * GIB


def test_a_frame_larger_than_memory_is_refused_before_the_model_is_looked_for(
    bench, frames, monkeypatch
):
    # 128 x 144 pixels of 2 bytes, and twenty numbers of 4 bytes for each.
    least = 128 * 144 * (2 + 80)
    assert stage.least_bytes((128, 144), Movie.open(frames), SegmentParams()) == least
    monkeypatch.setattr(cgroups, "usable_bytes", lambda: least - 1)
    monkeypatch.delattr(models, "find_model")
    error = bench.run("run", frames).error
    assert error.exit_code == 3
    assert error.message.startswith("segmenting 144 x 128 pixels of movie.ome.tif takes at least ")
    assert "\n" not in error.message
    assert not (bench.folder / "out" / "labels.ome.tif").exists()


@pytest.mark.slow
@pytest.mark.parametrize("diameter_px", [None, 60.0], ids=["as_large", "shrunk"])
def test_cellpose_really_holds_that_much(diameter_px, movie, segmenter):
    frames = Movie.open(movie / "movie.ome.tif")
    frame = np.tile(next(frames.frames(0, 1, channel=0)), (3, 3))
    params = SegmentParams(diameter_px=diameter_px)
    shape_yx = (frame.shape[0], frame.shape[1])
    segmented = replace(frames, layout=Layout("TYX", (1, *shape_yx)))
    least = stage.least_bytes(shape_yx, segmented, params) - frame.nbytes
    tracemalloc.start()
    try:
        segmenter.segment(frame, params)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert least < peak < 3 * least


def test_the_middle_of_it_may_fit(frames, monkeypatch):
    movie = Movie.open(frames)
    monkeypatch.setattr(cgroups, "usable_bytes", lambda: 128 * 144 * 2 + 64 * 64 * 80)
    fitting, larger = (stage.least_bytes((side, side), movie, SegmentParams()) for side in (64, 65))
    cgroups.refuse_beyond_memory(fitting, "segmenting", "take the middle")
    with pytest.raises(ResourceExhausted):
        cgroups.refuse_beyond_memory(larger, "segmenting", "take the middle")
