import math

import pytest

from pyscale.errors import UserError
from pyscale.planning.suite import load_suite
from refusals import refused


@pytest.fixture
def own(tmp_path):
    def write(text):
        (tmp_path / "own.toml").write_text(text)
        return str(tmp_path / "own.toml")

    return write


def entry(name, **inputs):
    """An entry of a suite; its keys and inputs as TOML gives them."""
    keys = "".join(f"{key} = '{inputs.pop(key)}'\n" for key in ("stage", "data") if key in inputs)
    given = ", ".join(f"{slot} = '{source}'" for slot, source in inputs.items())
    return f"[stages.{name}]\n{keys}inputs = {{{given}}}\n"


SEGMENT = entry("segment", frames="movie")
OF_NUCLEI = entry("segment", data="stardist-nuclei", frames="movie")
SLIDES, PHANTOM = "data = 'slides'\n", "data = 'phantom'\n"
LOADER = entry("loader", slides="slides")


@pytest.mark.parametrize(
    "text",
    [
        "[stages.track]\ninput = {labels = 'movie'}",
        entry("trak", labels="movie"),
        entry("track", label="movie"),
        entry("track", labels="segment"),
        entry("track"),
        "[stages",
        SEGMENT + entry("track", data="hela-tracking", labels="segment"),
        OF_NUCLEI
        + entry("segment_ch1", stage="segment", frames="movie")
        + entry("contact", labels="segment", labels_b="segment_ch1"),
        OF_NUCLEI,
        SEGMENT
        + entry("track", data="a/x.tif", labels="movie")
        + entry("contact", data="b/x.tif", labels="movie"),
        # A folder to measure feeds nothing but what measures it.
        entry("storage", place="movie"),
        entry("storage"),
        entry("track", labels="place"),
        "data = 'place'\n" + entry("track", labels="movie"),
        # Slides feed ranks and nothing else.
        LOADER,
        SLIDES + entry("loader"),
        SLIDES + entry("loader", slides="movie"),
        SLIDES + entry("loader", slides="place"),
        SLIDES + entry("storage", place="place") + entry("loader", slides="storage"),
        SLIDES + entry("track", labels="slides"),
        # An image of its own is no data of other stages.
        "[stages.reconstruct]",
        SLIDES + "[stages.reconstruct]",
        PHANTOM + "[stages.segment]",
        PHANTOM + "[stages.loader]",
        PHANTOM + entry("reconstruct", frames="movie"),
    ],
)
def test_a_wrong_suite_is_one_sentence(own, text):
    with refused(UserError):
        load_suite(own(f"name = 'own'\nsummary = 'mine'\n{text}\n"))


@pytest.mark.parametrize("name", ["=1+1", "-own", "a\\u001b[31m"])
def test_a_suite_has_a_name_that_tables_can_hold(own, name):
    with refused(UserError):
        load_suite(own(f'name = "{name}"\nsummary = "mine"\nstages = {{}}\n'))


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
