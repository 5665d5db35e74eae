import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from pyscale_stages.layout import Layout
from pyscale_stages.measure import cgroups
from pyscale_stages.movie import Movie
from pyscale_stages.segment import models, stage
from pyscale_stages.segment.params import SegmentParams


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
