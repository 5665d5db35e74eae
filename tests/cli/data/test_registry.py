import hashlib
import re

import pytest

from atleastone import some
from pyscale.data.registry import load_registry
from pyscale.errors import UserError
from pyscale.resources import shipped
from pyscale_stages.slides.synthetic import SlidesParams
from refusals import refused

FILES = f"""[["cells.tif", 10, "{"0" * 64}"]]"""
GOOD = f"""
[datasets.cells]
title = "Cells"
kind = "movie"
base_url = "https://example.org/"
files = {FILES}
movie = "cells.tif"
licence = "CC0-1.0"
licence_url = "https://example.org/licence"
citation = "Somebody"
axes = "TYX"
"""


def load(tmp_path, text):
    (tmp_path / "datasets.toml").write_text(text)
    return load_registry(tmp_path)


def refusal(tmp_path, text):
    with refused(UserError) as caught:
        load(tmp_path, text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        pytest.param("licence =", "license =", id="unknown key"),
        pytest.param(FILES, '[{ name = "cells.tif", sha265 = "" }]', id="did you mean sha256"),
        pytest.param(FILES, f'[{{ name = "a", sha256 = "{"0" * 64}" }}]', id="needs size_bytes"),
        pytest.param("licence_url", "# ", id="datasets.cells.licence_url is"),
        pytest.param("[datasets.cells]", "[datasets", id="cannot be read"),
        pytest.param('"' + "0" * 64 + '"', '"abc"', id="sha256"),
        pytest.param('movie = "cells.tif"', 'movie = "other.tif"', id="is not one of the files"),
        pytest.param('[["cells.tif"', '[["../cells.tif"', id="files.0.name"),
        pytest.param(FILES, f"{FILES[:-1]}, {FILES[1:]}", id="the same name"),
        pytest.param('base_url = "https://example.org/"\n', "", id="files need a base_url"),
        pytest.param('base_url = "https', 'base_url = "ftp', id="base_url"),
        pytest.param("[datasets.cells]", '[datasets."../cells"]', id="datasets.../cells"),
    ],
)
def test_an_entry_that_cannot_be_fetched_is_refused(tmp_path, good, bad):
    assert good in GOOD
    refusal(tmp_path, GOOD.replace(good, bad))


def test_an_absent_registry_is_one_sentence(tmp_path):
    with refused(UserError):
        load_registry(tmp_path)


def test_the_shipped_registry_describes_every_file_of_the_real_microscopy(shared_data):
    registry = load_registry(shipped("config"))
    listed = {
        (line.split()[1].removeprefix("./"), line.split()[0])
        for line in (shared_data / "SHA256SUMS").read_text().splitlines()
    }
    described = {
        (f"{name}/{file.name}", file.sha256)
        for name, dataset in registry.datasets.items()
        for file in dataset.files
        if (shared_data / name).is_dir()
    }
    assert {pair for pair in listed if (shared_data / pair[0]).is_file()} == described
    for name, dataset in registry.datasets.items():
        for file in dataset.files:
            path = shared_data / name / file.name
            if path.is_file():
                assert path.stat().st_size == file.size_bytes
                assert hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256


def test_every_shipped_entry_says_its_licence_and_what_to_cite():
    for name, dataset in some(load_registry(shipped("config")).datasets.items()):
        assert dataset.licence, name
        assert len(dataset.citation) > 10, name
        assert all(dataset.address(file).startswith("https://") for file in dataset.files), name


SYNTHETIC = re.sub("base_url.*|files.*", "", GOOD).replace("cells.tif", "movie.ome.tif")
SYNTH = "synth = { seed = 3, frames = 4 }\n"
SLIDES = "slides = { seed = 3, slides = 4 }\n"


def test_what_a_synthetic_dataset_is_made_by_stands_in_place_of_files(tmp_path):
    cells = load(tmp_path, SYNTHETIC + SYNTH).get("cells")
    assert (cells.synth.seed, cells.synth.frames) == (3, 4)
    assert (cells.files, cells.size_bytes) == ((), None)
    text = SYNTHETIC.replace('"movie"', '"slides"').replace("movie.ome.tif", ".")
    cells = load(tmp_path, text + SLIDES).get("cells")
    assert cells.made == SlidesParams(seed=3, slides=4)
    assert (cells.synth, cells.size_bytes) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        *(text for text in (SYNTHETIC, GOOD + SYNTH, GOOD + SLIDES, SYNTHETIC + SYNTH + SLIDES)),
        SYNTHETIC.replace('"movie"', '"labels"') + SYNTH,
        SYNTHETIC + "synth = { frmes = 4 }",
        SYNTHETIC + "synth = { cells = 9999 }",
        SYNTHETIC + SLIDES,
        SYNTHETIC + "slides = { height = 600 }",
    ],
)
def test_a_dataset_that_can_neither_be_fetched_nor_made_is_refused(tmp_path, text):
    refusal(tmp_path, text)
