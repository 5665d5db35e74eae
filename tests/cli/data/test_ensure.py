import numpy as np
import pytest
import tifffile

from datamirror import MADE_MOVIE, MADE_SLIDES, registry_of, row
from pyscale.data.ensure import find_movie
from pyscale.errors import UserError
from pyscale.planning.planentry import Dataset
from pyscale.planning.suite import Suite, SuiteStage, load_suite
from pyscale.settings import Settings
from pyscale_stages.framefiles import files_of
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.slides.reading import slide_files
from refusals import refused

SMALL = {"frames": 3, "height_px": 64, "width_px": 64, "cells": 3, "radius_px": 5}
SMALL_SLIDES = {"slides": 1, "height_px": 512, "width_px": 512}


@pytest.fixture
def find(data_root, monkeypatch, tmp_path):
    """Find the movie, or the slides, of settings that name `data`."""
    monkeypatch.chdir(tmp_path)

    def find_named(data, mirror=None, suite="pipeline", **changes):
        settings = Settings(data=str(data), data_folder=data_root, mirror=mirror, **changes)
        return find_movie(settings, load_suite(suite) if isinstance(suite, str) else suite)

    return find_named


@pytest.mark.parametrize(
    ("name", "frames"),
    [("cancer-migration", 48), ("drosophila-nuclei", 21), ("hela-tracking", 92)],
)
def test_a_real_movie_is_fetched_and_its_frames_counted(find, shared_data, name, frames):
    suite = "labels" if name == "hela-tracking" else "pipeline"
    found = find(name, mirror=str(shared_data), suite=suite)
    assert found.frames == frames
    assert found.truth is None
    assert found.own_truth == (found.movie if name == "hela-tracking" else None)
    assert found.movie.exists()


def test_the_single_image_of_a_published_benchmark_is_a_movie_of_one_frame(find, tmp_path):
    folder = tmp_path / "mirror" / "cell-00505"
    folder.mkdir(parents=True)
    pixels = np.arange(96 * 80, dtype=np.uint16).reshape(96, 80)
    tifffile.imwrite(folder / "cell_00505_neur_ips_2160.tif", pixels)
    found = find("cell-00505", mirror=str(folder.parent), suite="device")
    assert (found.frames, found.shape_yx, found.truth) == (1, (96, 80), None)


def test_a_synthetic_movie_brings_its_truth_which_alone_holds_labels(find, make_own):
    movie = make_own("dense", SMALL)
    for data in ("dense", movie, movie.parent):
        found = find(data)
        assert (found.movie, found.frames, found.truth) == (movie, 3, movie.parent / "truth")
        assert found.shape_yx == (64, 64)
    for data in ("dense", movie.parent):
        with refused(UserError):
            find(data, suite="labels")
    labels = movie.parent / "truth" / "specimen" / "labels_ch0.ome.tif"
    assert find(labels, suite="labels").movie == labels
    # Patches are read of any movie that is named by its path.
    assert find(movie, suite="loader") == Dataset(movie=movie, frames=1)
    with refused(UserError):
        find("dense", suite="loader")


@pytest.fixture
def registered(monkeypatch):
    """Let this be the registry."""
    return lambda registry: monkeypatch.setattr(
        "pyscale.data.ensure.load_registry", lambda _folder: registry
    )


def test_a_synthetic_dataset_of_the_registry_is_made_with_its_truth(find, data_root, registered):
    registered(MADE_MOVIE)
    found = find("cells", mirror="http://127.0.0.1:9")
    assert found.movie == data_root / "cells" / "movie.ome.tif"
    assert found.truth == data_root / "cells" / "truth"
    assert (found.frames, found.shape_yx, found.reading.axes) == (2, (64, 80), "TYX")
    with refused(UserError):
        find("cells", suite="labels")


@pytest.mark.parametrize(
    ("name", "suite"),
    [
        ("bbbc039", "pipeline"),
        ("neurips-cellseg-tuning", "labels"),
        ("stardist-nuclei", "pipeline_two_channels"),
        ("cmu-1", "pipeline"),
        ("hela-tracking", "pipeline"),
        ("cancer-migration", "labels"),
        ("cancer-migration", "loader"),
        ("bbbc039", "loader"),
    ],
)
def test_a_dataset_of_another_kind_is_refused_before_it_is_fetched(
    find, data_root, tmp_path, name, suite
):
    with refused(UserError):
        find(name, mirror=str(tmp_path / "a mirror that is not there"), suite=suite)
    assert not data_root.exists()


def test_a_movie_of_real_numbers_holds_no_labels(find, tmp_path):
    write_movie(tmp_path / "own.ome.tif", np.zeros((2, 8, 8), np.float32), "TYX")
    with refused(UserError):
        find("own.ome.tif", suite="labels")
    assert find("own.ome.tif").frames == 2


@pytest.mark.parametrize(
    "data",
    [
        "notes.tif",
        "cancer-migratoin",
        # Synthetic movies are known too.
        "dens",
    ],
)
def test_what_is_no_movie_is_one_sentence(find, make_own, tmp_path, data):
    make_own("dense", SMALL)
    (tmp_path / "notes.tif").write_text("not a movie")
    with refused(UserError):
        find(data)


def test_slides_of_the_registry_are_made_or_fetched_and_counted(
    find, server, data_root, registered
):
    registered(MADE_SLIDES)
    found = find("cells", mirror="http://127.0.0.1:9", suite="loader")
    assert found == Dataset(movie=data_root / "cells", frames=2)
    # A dataset of one slide is measured as slides.
    name = "one.svs"
    registered(registry_of([row(name, b"slide")], kind="slide", movie=name, axes="YXS"))
    server.put(name, b"slide")
    found = find("cells", mirror=server.address, suite="loader")
    assert found == Dataset(movie=data_root / "cells" / name, frames=1)


def test_one_image_of_a_set_is_a_movie_of_a_frame(find, shared_data):
    for _ in range(2):
        found = find("stardist-nuclei/img2d.tif", mirror=str(shared_data))
        assert (found.movie.name, found.frames, found.shape_yx) == ("img2d.tif", 1, (512, 512))
    with refused(UserError):
        find("stardist-nuclei/img3d.tif", mirror=str(shared_data))
    with refused(UserError):
        find("stardist-nuclei/../SHA256SUMS", mirror=str(shared_data))


def test_own_slides_are_found_by_name_and_by_path_and_are_no_movie(find, make_own):
    folder = make_own("own", SMALL_SLIDES, kind="slides")
    for data in ("own", folder):
        assert find(data, suite="loader") == Dataset(movie=folder, frames=1)
        with refused(UserError):
            find(data)
    slide = folder / "slide_000.svs"
    assert find(slide, suite="loader") == Dataset(movie=slide, frames=1)


def test_a_folder_holds_slides_or_is_one_as_an_ome_zarr(find, tmp_path):
    (tmp_path / "empty").mkdir()
    with refused(UserError):
        find("empty", suite="loader")
    (tmp_path / "image.zarr" / "0").mkdir(parents=True)
    zarr = Dataset(movie=tmp_path / "image.zarr", frames=1)
    assert find("image.zarr", suite="loader") == zarr


def test_slides_of_a_list_or_of_nested_folders_are_links_in_one_folder(find, tmp_path, data_root):
    for name in ("s/1/a.svs", "s/2/a.mrxs", "s/2/a/Dat0.dat"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    nested = find("s", suite="loader")
    assert nested == find("s", suite="loader")
    assert nested.frames == 2
    assert nested.movie.is_relative_to(data_root)
    assert nested.movie.name == "s"
    names = [file.relative_to(nested.movie).as_posix() for file in files_of(nested.movie)]
    assert names == ["0-a.svs", "1-a/Dat0.dat", "1-a.mrxs"]
    assert (nested.movie / "0-a.svs").read_text() == "s/1/a.svs"
    (tmp_path / "mine.txt").write_text("s/2/a.mrxs\ns/1\n")
    listed = find("mine.txt", suite="loader")
    assert [file.name for file in slide_files(listed.movie)] == ["0-a.mrxs", "1-a.svs"]
    (tmp_path / "s" / "1" / "b.vms").touch()
    with refused(UserError):
        find("s", suite="loader")
    assert find("s/1", suite="loader").movie == tmp_path / "s" / "1"


def test_a_truth_of_the_users_own_must_fit_the_movie(find, tmp_path):
    for name, frames in (("own", 2), ("short", 1)):
        write_movie(tmp_path / f"{name}.ome.tif", np.zeros((frames, 8, 8), np.uint16), "TYX")
    own = tmp_path / "own.ome.tif"
    assert find(own, truth=own).own_truth == own
    with refused(UserError):
        find(own, truth="short.ome.tif")
    with refused(UserError):
        find(own, truth="nowhere")


def test_a_suite_of_tiles_that_no_step_shares_is_refused(find, shared_data):
    movie = shared_data / "cancer-migration" / "cancer_cell_migration_crop.tif"
    steps = {"one": {"command": "a {input} {output}"}}
    with refused(UserError):
        find(movie, suite=Suite(name="tiled", summary="Tiles", data="tiles", stages=steps))


def test_tiles_of_an_image_are_counted_where_all_steps_have_tiles_of_one_size(find, shared_data):
    movie = shared_data / "cancer-migration" / "cancer_cell_migration_crop.tif"
    assert find(movie, suite=tiled_suite("one")).frames == 1
    for tile_px, tiles in ((64, 9), (130, 1), (100, 4)):
        given = {"one": {"tile_px": tile_px}}
        assert find(movie, suite=tiled_suite("one"), stages=given).frames == tiles
    with refused(UserError):
        find(movie, suite=tiled_suite("one", "two"), stages={"two": {"tile_px": 64}})


def tiled_suite(*entries):
    step = {"command": "a {input} {output}", "split": "tiles", "window": "file"}
    stages = {entry: SuiteStage.model_validate(step) for entry in entries}
    return Suite(name="tiled", summary="Tiles", data="tiles", stages=stages)
