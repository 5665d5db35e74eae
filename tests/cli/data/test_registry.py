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
    with pytest.raises(UserError) as caught:
        load(tmp_path, text)
    return str(caught.value)


def test_a_file_has_a_short_form_and_lies_at_the_base_address_unless_it_has_its_own(tmp_path):
    own = f'{FILES[:-1]}, {{ name = "b.tif", url = "https://example.net/x?b" }}]'
    cells = load(tmp_path, GOOD.replace(FILES, own)).get("cells")
    first = cells.files[0]
    assert (first.name, first.size_bytes, first.sha256) == ("cells.tif", 10, "0" * 64)
    addresses = [cells.address(file) for file in cells.files]
    assert addresses == ["https://example.org/cells.tif", "https://example.net/x?b"]


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("licence =", "license =", "unknown key 'datasets.cells.license'; did you mean 'licence'?"),
        (FILES, '[{ name = "cells.tif", sha265 = "" }]', "did you mean 'sha256'?"),
        (FILES, '[{ name = "a", unpack = "zip" }]', "unpacked_limit_bytes go together"),
        ("licence_url", "# ", "'datasets.cells.licence_url' is missing"),
        ("[datasets.cells]", "[datasets", "cannot be read"),
        ('title = "', 'title = "\\q', "cannot be read"),
        ('"' + "0" * 64 + '"', '"abc"', "sha256"),
        ('movie = "cells.tif"', 'movie = "other.tif"', "is not one of the files"),
        ('movie = "cells.tif"', 'movie = "cells.tif/../.."', "is not one of the files"),
        ('[["cells.tif"', '[["../cells.tif"', "files.0.name"),
        ('[["cells.tif"', '[["cells.tif", 1], ["cells.tif"', "the same name"),
        ('base_url = "https://example.org/"\n', "", "a file needs a url"),
        ('base_url = "https', 'base_url = "ftp', "base_url"),
        ("[datasets.cells]", '[datasets."../cells"]', "datasets.../cells"),
        ("files = [[", "files = [[0, 1, 2, 3], [", "files.0"),
    ],
)
def test_an_entry_that_cannot_be_fetched_is_refused(tmp_path, good, bad, said):
    assert good in GOOD
    assert said in refusal(tmp_path, GOOD.replace(good, bad))


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
    ("text", "said"),
    [
        *(
            (text, "one of files, synth, drifted and slides")
            for text in (SYNTHETIC, GOOD + SYNTH, GOOD + SLIDES, SYNTHETIC + SYNTH + SLIDES)
        ),
        (SYNTHETIC.replace('"movie"', '"labels"') + SYNTH, 'drifted need the kind "movie"'),
        (SYNTHETIC + "synth = { frmes = 4 }", "did you mean 'frames'"),
        (SYNTHETIC + "synth = { cells = 9999 }", "use at most"),
        (SYNTHETIC + SLIDES, 'slides need the kind "slides"'),
        (SYNTHETIC + "slides = { height = 600 }", "did you mean 'height_px'"),
    ],
)
def test_a_dataset_that_can_neither_be_fetched_nor_made_is_refused(tmp_path, text, said):
    assert said in refusal(tmp_path, text)
