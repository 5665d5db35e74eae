"""A device to compute on, and tasks of the contact stage that run in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pyscale_stages.contact import host, pixels
from pyscale_stages.contact.device import import_pyclesperanto, select_device
from pyscale_stages.contact.labels import densify
from pyscale_stages.contact.strips import PixelMeasures, layout_of
from pyscale_stages.contact.tables import frame_rows, tables_of
from pyscale_stages.errors import MissingPart
from stagetasks import Bench

Measure = Callable[..., dict[str, pl.DataFrame]]


@pytest.fixture(scope="session")
def opencl(missing: Callable[[str, str], None]) -> None:
    """An OpenCL device on processors, made current."""
    try:
        import_pyclesperanto()
        select_device("cpu")
    except MissingPart as absent:
        missing("an OpenCL device", str(absent))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """The stage."""
    yield Bench("contact", tmp_path)
    assert not list(tmp_path.rglob("*.partial*"))


@pytest.fixture(scope="session")
def measured() -> Measure:
    """Measure one frame of one or two label images by NumPy and give its tables."""
    return partial(_tables, host.measure)


@pytest.fixture(scope="session", params=["numpy", "opencl"])
def measured_by_each(request: pytest.FixtureRequest) -> Measure:
    """The same by each backend."""
    if request.param == "numpy":
        return partial(_tables, host.measure)
    request.getfixturevalue("opencl")
    return partial(_tables, lambda types: pixels.measure(types, layout_of(types)))


def _tables(
    measure: Callable[[Any], PixelMeasures], *images: Any, frame: int = 0
) -> dict[str, pl.DataFrame]:
    types = [densify(np.asarray(image)) for image in images]
    if not any(len(cells.labels) for cells in types):
        return tables_of([])
    return tables_of([frame_rows(frame, types, measure(types))])
