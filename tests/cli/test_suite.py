"""Suites are read from files, and refused in one sentence."""

import math

import pytest

from pyscale.errors import UserError
from pyscale.suite import load_suite, suite_names
from pyscale.traits import has_own_work, measures_alone, meets, shares_result


@pytest.mark.parametrize("name", suite_names())
def test_every_shipped_suite_loads_under_its_own_name(name):
    assert load_suite(name).name == name


def test_an_entry_runs_the_stage_it_names():
    suite = load_suite("pipeline_two_channels")
    assert suite.stage_name("segment_ch1") == "segment"
    assert suite.stage_name("contact") == "contact"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[stages.track]\ninput = {labels = 'movie'}", "unknown key 'stages.track.input'.*inputs"),
        ("[stages.trak]\ninputs = {labels = 'movie'}", "at stages.trak.*did you mean 'track'"),
        ("[stages.track]\ninputs = {label = 'movie'}", "unknown input 'label'.*'labels'"),
        ("[stages.track]\ninputs = {labels = 'segment'}", "not an earlier entry"),
        ("[stages.track]\ninputs = {}", "no input 'labels'"),
        ("[stages", "is not TOML"),
        (
            "[stages.segment]\ninputs = {frames = 'movie'}\n"
            "[stages.track]\ndata = 'hela-tracking'\ninputs = {labels = 'segment'}",
            'no input of it is "movie" or "truth"',
        ),
        (
            "[stages.segment]\ndata = 'stardist-nuclei'\ninputs = {frames = 'movie'}\n"
            "[stages.segment_ch1]\nstage = 'segment'\ninputs = {frames = 'movie'}\n"
            "[stages.contact]\ninputs = {labels = 'segment', labels_b = 'segment_ch1'}",
            "feeds stages.contact from two datasets",
        ),
        (
            "[stages.segment]\ndata = 'stardist-nuclei'\ninputs = {frames = 'movie'}",
            "sets data for every stage",
        ),
        (
            "[stages.segment]\ninputs = {frames = 'movie'}\n"
            "[stages.track]\ndata = 'a/x.tif'\ninputs = {labels = 'movie'}\n"
            "[stages.contact]\ndata = 'b/x.tif'\ninputs = {labels = 'movie'}",
            "two datasets named x.tif",
        ),
        # A folder to measure feeds nothing but what measures it.
        ("[stages.storage]\ninputs = {place = 'movie'}", "takes only its place"),
        ("[stages.storage]\ninputs = {}", "has no input 'place' for stages.storage"),
        (
            "[stages.track]\ninputs = {labels = 'place'}",
            "feeds 'labels'.*takes neither a place nor",
        ),
        ("data = 'place'\n[stages.track]\ninputs = {labels = 'movie'}", "track cannot measure"),
        # Slides feed ranks and nothing else.
        ("[stages.loader]\ninputs = {slides = 'slides'}", 'set data = "slides" above its stages'),
        ("data = 'slides'\n[stages.loader]\ninputs = {}", "no input 'slides'"),
        ("data = 'slides'\n[stages.loader]\ninputs = {slides = 'movie'}", "not an earlier entry"),
        ("data = 'slides'\n[stages.loader]\ninputs = {slides = 'place'}", "takes slides alone"),
        (
            "data = 'slides'\n[stages.storage]\ninputs = {place = 'place'}\n"
            "[stages.loader]\ninputs = {slides = 'storage'}",
            "feeds 'slides' of stages.loader from 'storage', but that input takes slides alone",
        ),
        ("data = 'slides'\n[stages.track]\ninputs = {labels = 'slides'}", "track cannot measure"),
        # An image of its own is no data of other stages.
        ("[stages.reconstruct]", 'reconstruct cannot measure: set data = "phantom" above its'),
        ("data = 'slides'\n[stages.reconstruct]", 'set data = "phantom" above its stages'),
        ("data = 'phantom'\n[stages.segment]", "segment cannot measure"),
        ("data = 'phantom'\n[stages.loader]", 'set data = "slides" above its stages'),
        (
            "data = 'phantom'\n[stages.reconstruct]\ninputs = {frames = 'movie'}",
            "unknown input 'frames'",
        ),
    ],
)
def test_a_wrong_suite_is_one_sentence(tmp_path, text, sentence):
    path = tmp_path / "own.toml"
    path.write_text(f"name = 'own'\nsummary = 'mine'\n{text}\n")
    with pytest.raises(UserError, match=sentence):
        load_suite(str(path))


@pytest.mark.parametrize("name", ["=1+1", "-own", "a\\u001b[31m"])
def test_a_suite_has_a_name_that_tables_can_hold(tmp_path, name):
    path = tmp_path / "own.toml"
    path.write_text(f'name = "{name}"\nsummary = "mine"\nstages = {{}}\n')
    with pytest.raises(UserError, match="'name': invalid name: it .*; choose another"):
        load_suite(str(path))


def test_what_an_entry_does_is_known_by_its_stage():
    pipeline, system = load_suite("pipeline"), load_suite("system")
    loader, reconstruct = load_suite("loader"), load_suite("reconstruct")
    assert system.entries_that(measures_alone) == {"storage", "decompress", "kernels"}
    assert not pipeline.entries_that(measures_alone) | loader.entries_that(measures_alone)
    assert loader.entries_that(has_own_work) == loader.entries_that(meets) == {"loader"}
    assert not pipeline.entries_that(meets) | reconstruct.entries_that(has_own_work)
    assert reconstruct.entries_that(shares_result) == {
        "colour_deblur",
        "tomography_2d",
        "tomography_3d",
    }
    assert reconstruct.entries_that(meets) == reconstruct.entries_that(shares_result)
    assert loader.entries_that(shares_result) == frozenset()
    assert not reconstruct.reads_data


def test_the_published_suite_has_its_24_configurations():
    (step,) = load_suite("loader_as_published").stages.values()
    assert math.prod(len(values) for values in step.grid.values()) == 24


def test_the_published_reconstruction_has_its_problems_sizes_and_tiles():
    suite = load_suite("reconstruct_as_published")
    assert suite.settings["workers"] == "1,2,4,8,16"
    sizes = {
        entry: step.grid.get("size_px", (step.params.get("size_px"),))
        for entry, step in suite.stages.items()
    }
    assert sizes == {
        "colour_deblur": (1024, 2048, 4096),
        "tomography_2d": (1024, 2048),
        "tomography_3d": (512,),
    }
    flat = {suite.stages[entry].params["tile_px"] for entry in ("colour_deblur", "tomography_2d")}
    assert flat == {448}
