import json
from functools import partial

import pytest

from commandline import run_line
from pyscale.data.commands import data_app
from pyscale.errors import UserError
from pyscale_stages.slides.synthetic import SlidesParams
from pyscale_stages.synth.params import SynthParams
from refusals import refused


@pytest.fixture
def run(data_root, monkeypatch, tmp_path):
    """Run `pyscale data …` on an empty data folder, in a folder without settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSCALE_DATA_FOLDER", str(data_root))
    return partial(run_line, data_app)


def test_a_fetched_dataset_is_listed_found_and_replaced_where_it_changed(
    run, shared_data, data_root
):
    fetch = ("fetch", "pc12-registration", "--mirror", str(shared_data))
    movie = data_root / "pc12-registration" / "pc12-unreg.tif"

    def states():
        return {row["name"]: row for row in json.loads(run("list", "--json").stdout)}

    fetched = run(*fetch)
    assert fetched.stdout == f"{movie}\n"
    assert "Licence" in fetched.stderr
    (line,) = [line for line in run("list").stdout.splitlines() if "pc12-registration" in line]
    assert "here" in line
    rows = states()
    assert rows["pc12-registration"]["state"] == "here"
    assert rows["cmu-1"] == {
        "name": "cmu-1",
        "kind": "slide",
        "state": "absent",
        "size_bytes": 177552579,
        "licence": "CC0-1.0",
        "title": rows["cmu-1"]["title"],
        "path": None,
    }
    with movie.open("ab") as file:
        file.write(b"x")
    assert states()["pc12-registration"]["state"] == "changed"
    assert "pc12-unreg.tif has changed and is replaced" in run(*fetch).stderr
    assert states()["pc12-registration"]["path"] == str(movie)


@pytest.mark.parametrize(
    "words",
    [
        "verify bbbc038",
        *(f"{words} --data-folder file" for words in ("list", "verify", "fetch cmu-1")),
    ],
)
def test_what_a_command_cannot_find_is_one_sentence(run, tmp_path, words):
    (tmp_path / "file").write_text("here")
    with refused(UserError):
        run(*words.split())


def test_an_unknown_name_is_refused_before_anything_is_fetched(run, shared_data, data_root):
    with refused(UserError):
        run("fetch", "pc12-registration", "cmu1", "--mirror", str(shared_data))
    assert not data_root.exists()


def test_verify_ends_with_1_where_a_file_is_not_what_it_was(run, shared_data, data_root):
    assert run("verify").stderr == f"nothing to verify in {data_root}\n"
    run("fetch", "stardist-nuclei", "--mirror", str(shared_data))
    assert "2 of 2 files" in run("verify").stdout
    (data_root / "stardist-nuclei" / "mask2d.tif").unlink()
    table = run("verify", code=1).stdout
    assert "mask2d.tif" in table
    assert "missing" in table
    states = json.loads(run("verify", "stardist-nuclei", "--json", code=1).stdout)
    assert states == [
        {"dataset": "stardist-nuclei", "file": "img2d.tif", "state": "ok"},
        {"dataset": "stardist-nuclei", "file": "mask2d.tif", "state": "missing"},
    ]


SMALL_MOVIE = "--frames 3 --size 64x80 --cells 4 --seed 2 --set density_profile=ramp"
SMALL_SLIDES = "--slides 2 --size 512x600 --set mpp=0.25"
SIZE = {"slides": 2, "height_px": 512, "width_px": 600, "mpp": 0.25, "seed": 2}
OF_MOVIE = {"frames": 3, "height_px": 64, "width_px": 80, "cells": 4, "cell_types": 1}
OF_MOVIE |= {"seed": 2, "density_profile": "ramp", "radius_px": 5.0}


@pytest.mark.parametrize(
    ("kind", "options", "place", "file", "params", "title"),
    [
        (
            *("movie", f"{SMALL_MOVIE} --set radius_px=5", "movie.ome.tif", "movie.ome.tif"),
            *(SynthParams(**OF_MOVIE), "A synthetic movie with its truth"),
        ),
        (
            *("slides", f"{SMALL_SLIDES} --set seed=2", ".", "slide_001.svs"),
            *(SlidesParams(**SIZE), "Synthetic slides"),
        ),
    ],
    ids=["movie", "slides"],
)
def test_a_synthetic_dataset_of_ones_own_is_made_listed_found_and_verified(
    run, data_root, kind, options, place, file, params, title
):
    said = run("synth", "mine", *options.split()).stdout
    folder = data_root / "mine"
    assert said == f"{folder / place}\n"
    record = {"movie": "synth.json", "slides": "slides.json"}[kind]
    assert type(params).model_validate_json((folder / record).read_text()) == params
    rows = {row["name"]: row for row in json.loads(run("list", "--json").stdout)}
    files = [file for file in folder.rglob("*") if file.is_file()]
    size_bytes = sum(file.stat().st_size for file in files)
    listed = {"kind": kind, "state": "here", "title": title, "size_bytes": size_bytes}
    assert rows["mine"].items() >= listed.items()
    assert f"{rows['mine']['path']}\n" == said
    assert f"{len(files)} of {len(files)} files" in run("verify", "mine").stdout
    (folder / file).write_bytes(b"short")
    states = json.loads(run("verify", "mine", "--json", code=1).stdout)
    assert [s["file"] for s in states if s["state"] == "changed"] == [file]


@pytest.mark.parametrize(
    "more",
    [
        ["--size", "big"],
        ["--size", "64x"],
        ["--set", "radius_px"],
        ["--set", "radus_px=3"],
        ["--set", "density_profile=falling"],
        ["--set", "mpp=0.25"],
        ["--slides", "2", "--frames", "3"],
        ["--slides", "2", "--cells", "3"],
        ["--slides", "0"],
        ["--slides", "2", "--size", "100"],
        ["--slides", "2", "--set", "height=3"],
    ],
    ids=str,
)
def test_a_wrong_option_of_synth_is_one_sentence(run, more):
    with refused(UserError):
        run("synth", "dense", *more)
