"""The image that loads patches: alone, in a run whose ranks meet, and as the doctor finds it."""

import json
import subprocess
import sys

import pytest

from commandline import answer_in
from pyscale.store.folder import find_run
from pyscale.store.taskfiles import read_task
from pyscale_stages.loading import Loading
from pyscale_stages.slides.synthetic import SlidesParams, write_slides

pytestmark = pytest.mark.images

PARAMS = {
    "num_workers": 2,
    "batch_size": 4,
    "batches": 4,
    "warmup_batches": 1,
    "patch_px": 64,
}
SUITE = """
name = "tiny"
summary = "Some patches, in a moment"
data = "slides"

[stages.loader]
inputs = { slides = "slides" }
threads = "all"

[stages.loader.params]
factory = "mine:make_dataset"
start_method = "fork"
"""
OWN = """
from pyscale_stages.loader.factories import factory_of
from pyscale_stages.loader.stage import LoaderParams

def make_dataset(*settings):
    return factory_of(LoaderParams(patch_px=64))(*settings)
"""


@pytest.fixture(scope="module")
def folder(with_image):
    """Folder with the image of the stage."""
    return with_image("loader")


@pytest.fixture(scope="module")
def slides(tmp_path_factory):
    """Four small slides, at a place that is hard on shells."""
    place = tmp_path_factory.mktemp("slides") / "my slides, [new]: é"
    return write_slides(place, SlidesParams(slides=4, height_px=512, width_px=512))


def loaded(done):
    """What a stage that ran alone measured."""
    assert done.returncode == 0, done.stderr
    return Loading.model_validate(json.loads(done.stdout)["samples"]["loading"][0])


@pytest.fixture(scope="module")
def native(slides, tmp_path_factory):
    """What this environment loads from the slides."""
    home = tmp_path_factory.mktemp("native")
    (home / "params.json").write_text(json.dumps(PARAMS))
    command = [sys.executable, "-m", "pyscale_stages", "loader", "run", "--input", str(slides)]
    return loaded(
        subprocess.run(
            [*command, "--output", "out", "--params", "params.json"],
            cwd=home,
            capture_output=True,
            text=True,
            check=False,
        )
    )


def test_the_image_runs_alone_and_delivers_the_patches_that_this_environment_does(
    engine, folder, slides, native, tmp_path
):
    (tmp_path / "params.json").write_text(json.dumps(PARAMS | {"start_method": "spawn"}))
    # A colon in what is bound would part it from where it is bound to.
    place = ("--mount", f'type=bind,"src={slides}",dst=/slides,ro')
    options = ("--containall", *place, "--bind", str(tmp_path), "--pwd", str(tmp_path))
    run = ("run", "--input", "/slides", "--output", "out", "--params", "params.json")
    done = subprocess.run(
        engine.command("run", *options, str(folder.sif("loader")), *run),
        capture_output=True,
        text=True,
        check=False,
    )
    loading = loaded(done)
    assert loading.checksum == native.checksum
    assert loading.diversity == native.diversity
    assert loading.free.patches == PARAMS["batches"] * PARAMS["batch_size"]
    assert "Traceback" not in done.stderr


def test_two_ranks_in_containers_meet_and_find_a_factory_of_ones_own(
    folder, slides, native, tmp_path
):
    (tmp_path / "my package").mkdir()
    (tmp_path / "my package" / "mine.py").write_text(OWN)
    params = "".join(f"{name} = {value}\n" for name, value in PARAMS.items())
    (tmp_path / "tiny.toml").write_text(SUITE + params)
    surroundings = {"PYSCALE_IMAGES_FOLDER": folder.path, "PYTHONPATH": tmp_path / "my package"}
    words = ("run", "tiny.toml", "--data", slides, "--runtime", "apptainer")
    done = answer_in(tmp_path, *words, "--workers", "1,2", "--repeats", "1", **surroundings)
    assert done.code == 0, done.err
    run = find_run(tmp_path / "runs", None)
    found = {}
    for trial in run.plan.trials:
        for name in trial.window_tasks:
            result = read_task(run.task(trial, name)).result
            assert result is not None
            assert result.stamp["image_sha256"] == folder.read_lock().images["loader"].sha256
            found.setdefault(trial.workers, []).append(result.of(Loading)[0])
    (alone,), together = found[1], found[2]
    assert alone.checksum == native.checksum
    assert [each.together is not None for each in together] == [True, True]
    assert together[0].checksum != together[1].checksum


def test_the_doctor_finds_what_the_stage_needs_in_its_image(folder, look):
    found = look(folder, "loader")
    assert {one.status for one in found.values()} == {"ok"}, found
    (works,) = {one.what for (code, _), one in found.items() if code == "stage.works"}
    assert "datasets are made by pyscale" in works
