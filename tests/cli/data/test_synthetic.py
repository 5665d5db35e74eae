import io
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
import tifffile

from datamirror import MADE_MOVIE, MADE_SLIDES, entry, registry_of, row
from pyscale.data.fetch import Fetcher
from pyscale.data.registry import Registry
from pyscale.data.synthetic import make_synthetic
from pyscale.data.verify import dataset_path, presence, read_contents, synthetic_kinds
from pyscale.errors import UserError
from pyscale_stages.slides.reading import slide_files
from refusals import refused

SMALL = {"frames": 2, "height_px": 64, "width_px": 64, "cells": 3, "radius_px": 5}
MADE_FILES = {"movie": "movie.ome.tif", "slides": "slide_001.svs"}
"""A file of each kind of dataset that is made."""


@pytest.fixture
def make(make_own):
    return lambda name, **changes: make_own(name, SMALL | changes)


def test_a_synthetic_movie_is_known_by_its_name_and_made_once(make, data_root):
    movie = make("dense")
    registry = registry_of([row("a.tif", b"a")])
    assert synthetic_kinds(registry, data_root) == {"dense": "movie"}
    assert dataset_path("dense", registry, data_root) == movie
    before = movie.stat().st_mtime_ns
    assert make("dense").stat().st_mtime_ns == before
    with refused(UserError):
        make("dense", seed=3)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("../dense", {}),
        ("Dense", {}),
        ("cells", {}),
        ("dense", {"frmes": 3}),
        ("dense", {"frames": "many"}),
        ("dense", {"cells": 5000}),
    ],
    ids=str,
)
def test_what_cannot_be_made_is_refused_and_nothing_is_written(make, data_root, name, changes):
    with refused(UserError):
        make(name, **changes)
    assert not data_root.exists()


def damage(file, how):
    content = file.read_bytes()
    if how == "no file":
        file.unlink()
    elif how == "a byte more":
        file.write_bytes(content + b"x")
    else:
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


DAMAGES = ("a byte more", "another byte", "no file")


@pytest.mark.parametrize("how", DAMAGES)
def test_a_movie_that_changed_on_disk_is_not_passed_as_made(make, how):
    damage(make("dense"), how)
    with refused(UserError):
        make("dense")


@pytest.mark.parametrize(
    ("params", "cells"),
    [
        ({}, 100),
        ({"height_px": 64, "width_px": 64}, 3),
        ({"height_px": "256", "width_px": 256}, 25),
        ({"height_px": 256, "width_px": 256, "radius_px": "5"}, 100),
    ],
)
def test_without_a_number_cells_fill_any_field_alike(make_own, params, cells):
    movie = make_own("dense", {"frames": 1, "cell_types": 1} | params)
    assert json.loads((movie.parent / "synth.json").read_text())["cells"] == cells


class Made:
    """A synthetic dataset `cells`, where nothing could be fetched from."""

    def __init__(self, kind, registry, data_root):
        self.kind = kind
        self.registry = registry
        self.dataset = registry.get("cells")
        self.file = data_root / "cells" / MADE_FILES[kind]
        self._data_root = data_root

    def fetch(self):
        return Fetcher(self.registry, self._data_root, "http://127.0.0.1:9").fetch("cells")

    def presence(self):
        return presence("cells", self.dataset, self._data_root)


@pytest.fixture(params=list(MADE_FILES))
def made(request, data_root):
    registry = MADE_MOVIE if request.param == "movie" else MADE_SLIDES
    return Made(request.param, registry, data_root)


of_a_movie = pytest.mark.parametrize("made", ["movie"], indirect=True)


def test_a_synthetic_dataset_of_the_registry_is_made_where_others_are_fetched(
    made, data_root, report, verified
):
    assert made.presence() == "absent"
    place = made.fetch()
    assert place == dataset_path("cells", made.registry, data_root)
    if made.kind == "movie":
        assert place == made.file
        assert (place.parent / "truth" / "specimen" / "tracks.parquet").is_file()
    else:
        assert [path.name for path in slide_files(place)] == ["slide_000.svs", "slide_001.svs"]
        assert report.said[-1] == f"cells: made 2 slides in {place}"
    assert made.presence() == "here"
    assert set(verified(made.dataset).values()) == {"ok"}
    # It is no movie of the user's own.
    assert synthetic_kinds(made.registry, data_root) == {}
    before = made.file.stat().st_mtime_ns
    made.fetch()
    assert made.file.stat().st_mtime_ns == before
    assert report.said[-1].endswith(", unchanged")


def test_something_else_in_the_place_of_a_synthetic_dataset_is_kept_and_named(made, data_root):
    own = make_synthetic("own", made.registry, data_root, SMALL).parent
    shutil.copytree(own, data_root / "cells")
    assert made.presence() == "changed"
    with refused(UserError):
        made.fetch()
    assert (data_root / "cells" / "movie.ome.tif").is_file()


@contextmanager
def stopping(_what, _total_bytes):
    def stop(_bytes):
        raise KeyboardInterrupt

    yield stop


def test_making_that_is_stopped_leaves_nothing_half(made, data_root):
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("pyscale.data.synthetic.bar", stopping)
        made.fetch()
    assert left_of(data_root) == set()
    assert made.presence() == "absent"
    made.fetch()
    assert made.file.is_file()


@of_a_movie
def test_what_a_killed_process_left_is_cleared_or_completed(made, data_root):
    half = data_root / ".cells.0a1b2c3d.partial"
    half.mkdir(parents=True)
    (half / "movie.ome.tif").write_bytes(b"half")
    movie = made.fetch()
    assert not half.exists()
    before = movie.stat().st_mtime_ns
    # It was killed between the movie and the record of its checksums.
    (data_root / ".cells.contents.json").unlink()
    assert made.presence() == "partly"
    assert made.fetch().stat().st_mtime_ns == before
    assert read_contents(data_root / "cells") is not None


@of_a_movie
def test_two_at_once_make_it_once_and_a_wrong_size_is_called_changed(made, data_root):
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: made.fetch(), range(2))
    assert first == second
    assert left_of(data_root) == {"cells"}
    # Before anything is read.
    made.file.write_bytes(b"short")
    assert made.presence() == "changed"
    assert dataset_path("cells", made.registry, data_root) is None


def left_of(data_root):
    """What lies in a data folder, but locks and records."""
    return {path.name for path in data_root.iterdir() if path.suffix not in {".lock", ".json"}}


@pytest.fixture
def drifting_registry(server):
    """A registry with an image and its labels, `cells`, and a movie that is made of them."""
    rng = np.random.default_rng(1)
    images = {"image.tif": rng.integers(0, 200, (64, 72)), "labels.tif": np.zeros((64, 72))}
    images["labels.tif"][20:30, 20:34] = 3
    files = []
    for name, image in images.items():
        content = io.BytesIO()
        tifffile.imwrite(content, image.astype(np.uint16))
        server.put(name, content.getvalue())
        files.append(row(name, content.getvalue()))
    made = {"source": "cells", "image": "image.tif", "labels": "labels.tif", "frames": 3}
    movie = entry([], base_url=None, drifted=made, movie="movie.ome.tif")
    source = entry(files, kind="images", movie="image.tif", axes="YX")
    return Registry.model_validate({"datasets": {"cells": source, "drifting": movie}})


def test_a_movie_of_another_datasets_image_brings_that_dataset_and_is_made_once(
    drifting_registry, server, data_root, report
):
    fetcher = Fetcher(drifting_registry, data_root, server.address)
    for _ in range(2):
        movie = fetcher.fetch("drifting")
    # They are fetched side by side.
    assert sorted(request.path for request in server.requests) == [
        "/cells/image.tif",
        "/cells/labels.tif",
    ]
    assert (movie.parent / "truth" / "specimen" / "labels_ch0.ome.tif").is_file()
    assert presence("drifting", drifting_registry.get("drifting"), data_root) == "here"
    assert report.said[-1].endswith(", unchanged")


def test_a_movie_is_not_made_of_what_is_not_fetched():
    made = {"source": "cells", "image": "image.tif", "labels": "labels.tif"}
    movie = entry([], base_url=None, drifted=made, movie="movie.ome.tif")
    with pytest.raises(ValueError, match="the source of drifting is not a dataset with files"):
        Registry.model_validate({"datasets": {"drifting": movie}})
