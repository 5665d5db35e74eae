"""The images of the stages that measure the machine: what they need is inside, and they run."""

import pytest

from commandline import answer_in
from pyscale.store.folder import RunFolder
from pyscale.store.taskfiles import read_task
from stagetasks import run_verb

pytestmark = pytest.mark.images

STAGES = ("storage", "decompress", "kernels")
SMALL = """
[stages.storage]
particles = 8
particle_side_px = 32
particle_files = 2
movies = 1
movie_frames = 2
movie_side_px = 64
small_files = 5
readers = [1, 2]
repeats = 1

[stages.decompress]
frames = 2
height_px = 64
width_px = 64
threads = [1]
repeats = 1

[stages.kernels]
tests = ["allocation", "picking"]
repeats = 2
"""
RUN_SYSTEM = ("run", "system", "--device", "cpu", "--repeats", "1", "--set", "keep_outputs=all")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder to measure, with a file of somebody's in it, and a name that is hard on shells."""
    folder = tmp_path_factory.mktemp("place") / "my place, [new]: é"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def measured(place, built_images, tmp_path_factory):
    """What the suite of the machine left of each stage, natively and in images."""
    found = {}
    for runtime in ("native", "apptainer"):
        folder = tmp_path_factory.mktemp(runtime)
        (folder / "pyscale.toml").write_text(SMALL, encoding="utf-8")
        words = (*RUN_SYSTEM, "--set", f"path={place}", "--runtime", runtime)
        done = answer_in(folder, *words, PYSCALE_IMAGES_FOLDER=built_images.path)
        assert done.code == 0, done.err
        (path,) = (folder / "runs").iterdir()
        found[runtime] = outputs(RunFolder(path))
    return found


def outputs(run):
    """Output folder and result of each stage's one task."""
    found = {}
    for trial in run.plan.trials:
        record = read_task(run.task(trial, "w0"))
        assert record.result is not None, f"{trial.id}: {record.error}"
        found[trial.stage] = (run.output(trial), record.result)
    return found


@pytest.mark.parametrize("stage", STAGES)
def test_an_image_finds_the_results_that_this_environment_does(
    measured, built_images, stage, tmp_path
):
    (reference, _), (other, result) = (measured[each][stage] for each in ("native", "apptainer"))
    assert result.stamp["image_sha256"] == built_images.read_lock().images[stage].sha256
    folders = {"reference": reference, "other": other}
    checked = run_verb(stage, "check", folders.items(), output=tmp_path)
    assert checked.agreement is not None, checked.error
    assert checked.agreement.same, checked.agreement


def test_an_image_measures_the_place_and_leaves_it_as_it_was(measured, place):
    """A folder of the image's own would lie in memory, and be measured without a complaint."""
    native, contained = (measured[each]["storage"][1].versions for each in ("native", "apptainer"))
    for name in ("place_filesystem", "place_device"):
        assert contained[name] == native[name] != "", name
    assert [path.name for path in place.iterdir()] == ["mine.txt"]
