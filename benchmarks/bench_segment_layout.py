"""Claim: on a CPU, Cellpose's network is at least 1.3 times as fast as by Cellpose's own defaults.

Its own: tensors of oneDNN, eight tiles a call. Here: channels last, a tile a call. One thread, one
frame of 492 x 492 px with some hundred cells, the two in turn; not a pixel of the labels differs.
"""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from paired import compare
from pyscale_stages.movie import Movie
from pyscale_stages.segment.calls import prepared_device
from pyscale_stages.segment.models import Model, import_cellpose
from pyscale_stages.segment.params import EMBEDDED_MODEL, SegmentParams, embedded_model
from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie

RATIO = 1.3
REPEATS = 7


def main() -> int:
    """Compare both; fail where the claim does not hold."""
    import_cellpose(3)
    cpu = prepared_device("cpu", threads=1, seed=0)
    model = Model(3, embedded_model(EMBEDDED_MODEL))
    here, own = model.build(cpu), model.build(cpu)
    # As Cellpose prepares a network for a CPU.
    own.model.net = own.model.net.to(memory_format=torch.contiguous_format)
    own.model.net.mkldnn = True
    with TemporaryDirectory() as folder:
        made = SynthParams(frames=1, height_px=492, width_px=492, cells=100, cell_types=1)
        movie = Movie.open(write_synthetic_movie(Path(folder), made) / "movie.ome.tif")
        frame = next(iter(movie.frames(0, 1, channel=0)))
    params = SegmentParams()
    as_cellpose = params.model_copy(update={"batch_size": 8})
    same = np.array_equal(here.segment(frame, params), own.segment(frame, as_cellpose))
    print(f"labels are {'the same' if same else 'NOT the same'}; one thread of {os.cpu_count()}")
    first, second = compare(
        ("Cellpose's own defaults", "channels last, one tile a call"),
        (lambda: own.segment(frame, as_cellpose), lambda: here.segment(frame, params)),
        repeats=REPEATS,
    )
    return 0 if same and statistics.median(first) / statistics.median(second) >= RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
