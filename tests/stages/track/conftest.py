import numpy as np
import pytest
import tifffile

from pyscale_stages.moviewriter import write_movie


@pytest.fixture
def label_movie(tmp_path):
    """Write a movie with a cell of 5 x 5 px around each (y, x) of each frame."""

    def write(centres):
        labels = np.zeros((len(centres), 96, 128), dtype=np.uint16)
        for frame, cells in enumerate(centres):
            for label, (y, x) in enumerate(cells, start=1):
                labels[frame, y - 2 : y + 3, x - 2 : x + 3] = label
        path = tmp_path / "labels.ome.tif"
        write_movie(path, labels, "TYX")
        return path

    return write


@pytest.fixture(scope="session")
def hela_masks(shared_data):
    """Label movie of the reference tracker: 92 frames, 8,600 cells, values are track ids."""
    files = sorted((shared_data / "hela-tracking").glob("mask*.tif"))
    return np.stack([tifffile.imread(file) for file in files])


@pytest.fixture(scope="session")
def hela_labels(hela_masks, tmp_path_factory):
    """The same cells with labels in random order in each frame, so that they tell nothing."""
    random = np.random.default_rng(20)
    shuffled = np.empty_like(hela_masks)
    for frame, mask in enumerate(hela_masks):
        ids = np.unique(mask[mask > 0])
        new_label = np.zeros(int(mask.max()) + 1, dtype=np.uint16)
        new_label[ids] = random.permutation(len(ids)) + 1
        shuffled[frame] = new_label[mask]
    path = tmp_path_factory.mktemp("hela") / "labels.ome.tif"
    write_movie(path, shuffled, "TYX")
    return path
