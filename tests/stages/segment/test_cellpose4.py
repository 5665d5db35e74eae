"""Cellpose 4 itself, where it can be imported: another process, for it replaces Cellpose 3."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import tifffile

from cellpose4_grid import MAKE_WEIGHTS, TOKEN_PX
from pyscale_stages.contract import TaskResult
from pyscale_stages.hashing import sha256_of
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.segment.parts import PARTS
from pyscale_stages.timing import Call

SHALLOW = (
    MAKE_WEIGHTS
    + """
import time
from segment_anything.build_sam import _build_sam, sam_model_registry
from pyscale_stages.commandline import main
sam_model_registry["vit_l"] = lambda weights: _build_sam(1024, 1, 16, [5], weights)
sys.exit(main(sys.argv[2:], time.monotonic()))
"""
)
"""Makes weights, and runs the stage with the first of the 24 layers of its encoder.

The readout here does not use what the encoder finds. In the image all layers run, for half a minute
a frame.
"""


@pytest.mark.slow
def test_cellpose_4_labels_the_cells_that_its_network_draws(cellpose4, tmp_path):
    # 64 x 96 pixels are centred in the network's 256 x 256, on a border of tokens.
    frames = np.random.default_rng(0).integers(0, 500, (1, 64, 96)).astype(np.uint16)
    weights, params, record = (
        tmp_path / name for name in ("grid.pt", "params.json", "result.json")
    )
    params.write_text(json.dumps({"model": str(weights)}), encoding="utf-8")
    movie, out = tmp_path / "movie.ome.tif", tmp_path / "out"
    write_movie(movie, frames, "TYX")
    words = ("segment", "run", "--input", movie, "--output", out, "--params", params)
    done = subprocess.run(
        [sys.executable, "-c", SHALLOW, *map(str, (weights, *words, "--result", record))],
        env={**os.environ, "PYTHONPATH": str(cellpose4)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = TaskResult.model_validate_json(record.read_bytes())
    assert result.versions["cellpose"].startswith("4.")
    assert result.versions["weights_sha256"] == sha256_of(weights)
    (call,) = result.of(Call)
    assert tuple(call.parts) == tuple(part for part in PARTS if part != "diameter")
    assert all(seconds > 0 for seconds in call.parts.values()), call.parts
    assert call.wall_s / 2 < sum(call.parts.values()) <= call.wall_s
    assert result.warnings[0].startswith("96 x 64 pixels are less than a tile of the network (256")
    labels = tifffile.imread(out / "labels.ome.tif")
    assert labels.max() == (64 // TOKEN_PX) * (96 // TOKEN_PX)
    assert set(np.bincount(labels.ravel())[1:].tolist()) == {36}
