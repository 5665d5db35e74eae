import os
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from pyscale_stages.segment.params import EMBEDDED_MODEL, embedded_model
from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie
from stagetasks import Bench

CELLPOSE4_VARIABLE = "PYSCALE_TEST_CELLPOSE4"

MOVIE = SynthParams(
    seed=950_001, frames=5, height_px=128, width_px=144, cells=22, cell_types=2, radius_px=8
)


@contextmanager
def _kept_model():
    """Build each model once for the tasks of this block, on each device."""
    from pyscale_stages.segment.models import Model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Model, "build", cache(Model.build))
        yield


@pytest.fixture(scope="module")
def kept_model():
    """Tasks of the module do not each build the model."""
    with _kept_model():
        yield


@pytest.fixture(scope="session")
def movie(tmp_path_factory):
    return write_synthetic_movie(tmp_path_factory.mktemp("synth") / "movie", MOVIE)


@pytest.fixture(scope="session")
def frames(movie):
    return movie / "movie.ome.tif"


@pytest.fixture(scope="session")
def segmented(frames, tmp_path_factory):
    """Output folder of all frames of the movie, and the record of its task."""
    bench = Bench("segment", tmp_path_factory.mktemp("segment"))
    result = bench.run("run", frames)
    return bench.folder / "out", result


@pytest.fixture(scope="session")
def whole(segmented):
    return segmented[0]


@pytest.fixture(scope="session")
def windows(frames, tmp_path_factory):
    bench = Bench("segment", tmp_path_factory.mktemp("windows"))
    with _kept_model():
        return bench.windows(frames, (0, 2), (2, 3), (3, 5))


@pytest.fixture(scope="session")
def segmenter():
    # Tests that need no network are collected without torch and Cellpose.
    from pyscale_stages.segment import calls
    from pyscale_stages.segment.models import find_size_weights
    from pyscale_stages.segment.networks import Cellpose3Segmenter

    cpu = calls.prepared_device("cpu", threads=1, seed=0)
    size_weights = find_size_weights(EMBEDDED_MODEL)
    return Cellpose3Segmenter(embedded_model(EMBEDDED_MODEL), cpu, size_weights)


@pytest.fixture(scope="session")
def cellpose4(missing):
    """Folder from which Cellpose 4 can be imported."""
    given = os.environ.get(CELLPOSE4_VARIABLE, "")
    folder = Path(given)
    if not given or not (folder / "cellpose").is_dir():
        missing(
            "Cellpose 4",
            "`make test` installs it into a folder of its own and names that in "
            f"{CELLPOSE4_VARIABLE}",
        )
    return folder.resolve()
