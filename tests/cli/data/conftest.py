import pytest

from datamirror import LONG_S, NOISE, registry_of, row, serve
from pyscale.data.fetch import Fetcher
from pyscale.data.registry import Registry
from pyscale.data.synthetic import make_synthetic
from pyscale.data.verify import verify_dataset


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Give every server up at its first failure."""
    monkeypatch.setattr("pyscale.data.fetch.TIMEOUT_S", LONG_S)
    monkeypatch.setattr("pyscale.data.fetch.RETRIES", 0)


@pytest.fixture
def shared_server(shared_data):
    """The real microscopy, served as a mirror."""
    yield from serve(shared_data)


@pytest.fixture
def server(tmp_path):
    """A mirror of the dataset `cells` with one file, and others that a test puts there."""
    root = tmp_path / "mirror"
    root.mkdir()
    for server in serve(root):
        server.put("cells.tif", NOISE)
        yield server


@pytest.fixture
def data_root(tmp_path):
    return tmp_path / "data"


class Heard:
    """What was said so far, a sentence each."""

    def __init__(self, capsys):
        self._capsys, self._text = capsys, ""

    @property
    def said(self):
        self._text += self._capsys.readouterr().err
        return self._text.splitlines()


@pytest.fixture
def report(capsys):
    return Heard(capsys)


@pytest.fixture
def verified(data_root):
    """State of each file of a dataset by its name."""

    def states(dataset, name="cells"):
        found = verify_dataset(name, dataset, data_root)
        return {state.file: state.state for state in found}

    return states


@pytest.fixture
def make_own(data_root):
    """Make a synthetic movie, or slides, of the user's own."""
    registry = registry_of([row("a.tif", b"a")])
    return lambda name, params, **options: make_synthetic(
        name, registry, data_root, params, **options
    )


@pytest.fixture
def fetch(server, data_root):
    """Fetch the dataset `cells` from the server."""

    def fetch_cells(dataset, mirror=None, *, accept_terms=False):
        registry = Registry(datasets={"cells": dataset})
        mirror = mirror or server.address
        return Fetcher(registry, data_root, mirror, accept_terms).fetch("cells")

    return fetch_cells
