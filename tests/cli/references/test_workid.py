"""Equal work has an equal fingerprint, wherever and however often it was done."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from pyscale.references.workid import work_id_of
from pyscale.store.folder import RunFolder
from pyscale_stages.moviewriter import write_movie


@pytest.fixture
def id_of(make, tmp_path):
    """Fingerprint of the pipeline's work with any setting replaced."""

    def fingerprint(movie=None, **changes):
        plan = make(**changes)
        if movie is not None:
            plan = plan.model_copy(update={"movie": movie})
        return work_id_of(RunFolder.create(tmp_path / plan.run_id, plan))

    return fingerprint


def test_repeats_workers_cores_and_places_do_not_count(id_of, movie, tmp_path):
    copy = Path(shutil.copy(movie, tmp_path / "another-name.tif"))
    others = {
        "repeats": 3,
        "workers": (2, 4),
        "cpus_per_worker": 2,
        "seed": 7,
        "cache": "warm",
        "chunks_per_worker": 2,
    }
    assert id_of() == id_of(copy, **others)


def test_other_bytes_parameters_stages_or_scaling_are_other_work(id_of, tmp_path):
    other, as_large = tmp_path / "other.ome.tif", tmp_path / "as-large.ome.tif"
    write_movie(other, np.ones((8, 4, 4), np.uint16), "TYX")
    content = bytearray(other.read_bytes())
    content[-1] ^= 1
    as_large.write_bytes(content)
    found = [
        id_of(),
        id_of(other),
        id_of(as_large),
        id_of(stages={"segment": {"min_size_px": 16}}),
        id_of(tolerance={"segment": 0.5}),
        id_of(only=("register_denoise",)),
        id_of(scaling="weak"),
    ]
    assert len(set(found)) == len(found)
