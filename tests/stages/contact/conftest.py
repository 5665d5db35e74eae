"""A device to compute on, and tasks of the contact stage that run in this process."""

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
import pytest

from pyscale_stages.contact import pixels
from pyscale_stages.contact.labels import densify
from pyscale_stages.contact.tables import frame_tables, joined
from pyscale_stages.errors import MissingPart
from stagetasks import Bench

Measure = Callable[..., dict[str, pl.DataFrame]]


@pytest.fixture(scope="session")
def opencl(missing):
    """An OpenCL device on processors, made current."""
    try:
        pixels.import_pyclesperanto()
        pixels.select_device("cpu")
    except MissingPart as absent:
        missing("an OpenCL device", str(absent))


@pytest.fixture
def bench(tmp_path):
    """The stage."""
    yield Bench("contact", tmp_path)
    assert not list(tmp_path.rglob("*.partial*"))


@pytest.fixture(scope="session")
def measured():
    """Measure one frame of one or two label images by NumPy and give its tables."""
    return partial(_tables, pixels.measure_by_numpy)


@pytest.fixture(scope="session", params=["numpy", "opencl"])
def measured_by_each(request):
    """The same by each backend."""
    if request.param == "numpy":
        return partial(_tables, pixels.measure_by_numpy)
    request.getfixturevalue("opencl")
    return partial(_tables, lambda types: pixels.measure(types, pixels.capacity_for(types)))


def _tables(measure, *images, frame=0):
    types = [densify(np.asarray(image)) for image in images]
    found = any(len(cells.labels) for cells in types)
    return joined([frame_tables(frame, types, measure(types))] if found else [])
