"""The runtime `apptainer`, for real: same results as natively, the same machine, nothing else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import tifffile

from atleastone import some
from commandline import answer_in, answer_of
from pyscale.executors.containernode import prepared
from pyscale.images.lockfile import ImageFolder
from pyscale.runtimes.starting import ApptainerRuntime
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import ImageFile, read_provenance
from pyscale.store.tables import FILES
from pyscale.store.taskfiles import read_cache, read_task
from pyscale_stages.binds import task_binds
from pyscale_stages.contract import TaskSpec
from pyscale_stages.hashing import sha256_of
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.validarea import VALID_FILE

SUITE = """
name = "cells"
summary = "Segmentation and contacts"

[stages.segment]
inputs = { frames = "movie" }
truth = "specimen"

[stages.contact]
inputs = { labels = "segment" }
truth = "specimen"
"""
STAGES = ("segment", "contact")
OPTIONS = ("--workers", "2", "--repeats", "1", "--set", "keep_outputs=all")
NO_NETWORK = (
    ["unshare", "--net"]
    if os.geteuid() == 0
    else ["unshare", "--user", "--map-current-user", "--net"]
)
# Of the moment, of the image's own system, or of the way in which a path is seen.
OF_THE_MOMENT = {"load_1min", "git_commit", "image_sha256", "gpu_reason"}
MEMORY_OF_THE_MOMENT = {"available_bytes", "used_bytes", "swap_used_bytes"}
OF_THE_SYSTEM = {"operating_system", "libc", "python"}
OF_A_BIND = {"ro", "rw", "nosuid", "nodev"}


def pyscale(folder, images, *arguments, before=()):
    """Run a command of pyscale in a working folder."""
    own = {"PYSCALE_DATA_FOLDER": folder / "data", "PYSCALE_IMAGES_FOLDER": images.path}
    return answer_in(folder, *arguments, before=before, **own)


def results(run):
    found = {}
    for trial in run.plan.trials:
        for task in trial.tasks:
            record = read_task(run.task(trial, task))
            assert record.result is not None, f"{trial.id}/{task}: {record.error}"
            found[f"{trial.id}/{task}"] = record.result
    return found


def files_below(folder):
    """Size, time of change and mode of all that lies below a folder, runs left out.

    Folders have no time: a run tries the page cache of a disk by a file that comes and goes.
    """
    found = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "runs"]
        for name in (*folders, *files):
            stat = Path(place, name).lstat()
            changed_ns = 0 if name in folders else stat.st_mtime_ns
            found[Path(place, name)] = (stat.st_size, changed_ns, stat.st_mode)
    return found


@pytest.fixture(scope="module")
def images(with_image):
    """Folder with the images of the two stages."""
    with_image("contact")
    return with_image("segment_cellpose3")


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory, images):
    """A working folder with a synthetic movie, under a name that is hard on shells."""
    folder = tmp_path_factory.mktemp("lab") / "my lab, [new]: é"
    folder.mkdir()
    (folder / "cells.toml").write_text(SUITE, encoding="utf-8")
    synth = ("data", "synth", "cells", "--frames", "4", "--size", "96", "--cells", "8")
    assert pyscale(folder, images, *synth).code == 0
    return folder


def measured(laboratory, images, suite):
    """Run a suite natively, and in images with the network off; give both runs."""
    found = {}
    for runtime, before in (("native", ()), ("apptainer", NO_NETWORK)):
        known = set(laboratory.glob("runs/*"))
        tree = files_below(laboratory) | files_below(images.path)
        words = ("run", suite, "--data", "cells", "--runtime", runtime, *OPTIONS)
        said = pyscale(laboratory, images, *words, before=before)
        assert said.code == 0, said
        assert files_below(laboratory) | files_below(images.path) == tree
        (path,) = set(laboratory.glob("runs/*")) - known
        found[runtime] = RunFolder(path)
    return found


@pytest.fixture(scope="module")
def runs(laboratory, images):
    """Both stages natively, and in images with the network off."""
    probe = (
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('192.0.2.1', 9))"
    )
    offline = subprocess.run(
        [*NO_NETWORK, sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )
    assert "Network is unreachable" in offline.stderr
    return measured(laboratory, images, "cells.toml")


@pytest.fixture(scope="module")
def native(runs):
    return results(runs["native"])


@pytest.fixture(scope="module")
def contained(runs):
    return results(runs["apptainer"])


def same_bytes(native, contained, stages):
    for stage in some(stages):
        names = [name for name in native if name.startswith(f"{stage}-") and native[name].outputs]
        assert {name.rpartition("/")[2] for name in names} == {"w0", "w1", "merge"}
        for name in some(names):
            assert contained[name].outputs == native[name].outputs, name


@pytest.mark.slow
def test_an_image_computes_the_bytes_that_this_environment_does(native, contained):
    same_bytes(native, contained, STAGES)


@pytest.mark.images
def test_every_stage_of_the_pipeline_computes_the_same_bytes_in_its_image(laboratory, built_images):
    runs = measured(laboratory, built_images, "pipeline")
    stages = ("register_denoise", "segment", "contact", "track")
    same_bytes(results(runs["native"]), results(runs["apptainer"]), stages)


@pytest.mark.slow
def test_every_result_names_the_image_that_made_it(runs, contained, images):
    locked = images.read_lock().images
    run = runs["apptainer"]
    frozen = read_provenance(run.path).containers
    assert frozen is not None
    assert {image.name: image.sha256 for image in frozen.images} == {
        trial.image: locked[trial.image or ""].sha256 for trial in run.plan.trials
    }
    for trial in run.plan.trials:
        for task in trial.tasks:
            stamp = contained[f"{trial.id}/{task}"].stamp
            assert stamp["image_sha256"] == locked[trial.image or ""].sha256
    manifest = json.loads((run.path / "provenance_manifest.json").read_text())
    for image in manifest["containers"]["images"]:
        assert image["sha256"] == locked[image["name"]].sha256
        assert image["labels"]["org.pyscale.version"] == locked[image["name"]].pyscale_version
    tasks = pl.read_parquet(run.path / FILES["tasks"], glob=False)
    assert set(tasks["image_sha256"]) == {image.sha256 for image in frozen.images}


def described(stamp):
    """What a stamp says of the machine, and not of the moment or the image's system."""
    found = {k: v for k, v in stamp.items() if k not in OF_THE_MOMENT | OF_THE_SYSTEM}
    cpu = {k: v for k, v in stamp["cpu"].items() if k != "current_mhz"}
    memory = {k: v for k, v in stamp["memory"].items() if k not in MEMORY_OF_THE_MOMENT}
    filesystems = [
        {k: v for k, v in system.items() if k not in {"path", "free_bytes", "options"}}
        | {"options": set(system["options"]) - OF_A_BIND}
        for system in stamp["filesystems"]
    ]
    return found | {"cpu": cpu, "memory": memory, "filesystems": filesystems}


@pytest.mark.slow
def test_the_machine_looks_the_same_from_inside(native, contained):
    for name, result in some(native.items()):
        assert described(contained[name].stamp) == described(result.stamp), name


@pytest.mark.slow
def test_the_page_cache_looks_the_same_from_inside(runs, native, contained):
    """How much a task leaves there is the kernel's choice; where it begins is pyscale's."""
    trial = "segment-n2-b1"

    def seen(look):
        return look.path, look.method, look.size_bytes, look.resident_bytes

    found = {}
    for runtime, result in (("native", native), ("apptainer", contained)):
        # The first worker to look is the only one that surely looks before another has read.
        both = [result[f"{trial}/w{worker}"].page_cache for worker in (0, 1)]
        looks = min(both, key=lambda looks: [look.before.resident_bytes or 0 for look in looks])
        cache = read_cache(runs[runtime].trial(runs[runtime].plan.trial(trial)))
        assert cache is not None
        # The inputs are evicted by pyscale itself, outside any image.
        assert [seen(look.before) for look in looks] == [seen(e.after) for e in cache.evictions]
        for look in looks:
            assert look.after.method == look.before.method
            assert 0 < (look.after.resident_bytes or 0) <= look.after.size_bytes
        found[runtime] = [seen(look.before)[1:] for look in looks]
    assert found["apptainer"] == found["native"] != []


@pytest.mark.slow
def test_the_start_of_the_container_is_a_phase_of_its_own(runs, native, contained):
    outside = {stage: [] for stage in STAGES}
    for name, result in contained.items():
        phases = [span.phase for span in result.spans]
        assert phases[:3] == ["container_start", "python_start", "import"], name
        container, python, imports = result.spans[:3]
        assert container.wall_s > 0.02
        assert python.wall_s > 0
        assert container.end_monotonic_s == python.start_monotonic_s
        assert python.end_monotonic_s == imports.start_monotonic_s
        attributed = sum(span.wall_s for span in result.spans)
        assert attributed < result.wall_s + 1e-6
        if result.spec.verb == "run":
            outside[result.spec.stage].append(1 - attributed / result.wall_s)
    # The best of a stage's tasks: a busy machine may interrupt any one of them between two spans.
    assert max(min(shares) for shares in outside.values()) < 0.01
    assert not any(s.phase == "container_start" for r in native.values() for s in r.spans)
    spans = pl.read_parquet(runs["apptainer"].path / FILES["spans"], glob=False)
    assert spans.filter(phase="container_start").height == len(contained)
    report = (runs["apptainer"].report / "scaling_analysis.md").read_text()
    assert "| container start |" in report


@pytest.mark.slow
def test_an_image_runs_alone_and_gives_the_same_bytes(engine, runs, native, images, tmp_path):
    # Of all stages the one that looks for a file beside its input.
    trial = runs["apptainer"].plan.trial("segment-n2-b1")
    wanted = native[f"{trial.id}/w0"]
    sif = str(images.sif(trial.image or ""))
    options = ["--containall"]
    inputs = [path for _, path in wanted.spec.inputs]
    # What the camera saw of moved frames lies beside them.
    beside = [path.parent / VALID_FILE for path in inputs]
    for bind in task_binds(tmp_path, [*inputs, *beside]):
        options += bind.option()
    first, end = wanted.spec.frames or (0, 0)
    arguments = ["--output", str(tmp_path / "out"), "--frames", f"{first}:{end}"]
    for path in inputs:
        arguments += ["--input", str(path)]
    said = subprocess.run(
        engine.command("run", *options, sif, "run", *arguments), capture_output=True, check=False
    )
    assert said.returncode == 0, said
    found = {path.name: sha256_of(path) for path in (tmp_path / "out").iterdir()}
    assert found == {output.name: output.sha256 for output in wanted.outputs}


WRITE_WHERE_POSSIBLE = """
import pathlib, sys
for text in sys.argv[1:]:
    path = pathlib.Path(text)
    try:
        (path if path.is_file() else path / "written-by-a-test").open("a").write("x")
    except OSError:
        continue
    print(path)
"""


def test_a_task_writes_into_its_own_folder_and_scratch_alone(engine, images, tmp_path, labels):
    task, truth = tmp_path / "runs" / "w0", tmp_path / "truth"
    for folder in (task, truth):
        folder.mkdir(parents=True)
    (truth / "contacts.parquet").touch()
    image = ImageFile(
        name="contact",
        path=images.sif("contact"),
        size_bytes=0,
        modified_ns=0,
        sha256="0" * 64,
        locked=True,
        git_commit=None,
        labels={},
    )
    spec = TaskSpec(stage="contact", inputs=(("labels", labels),), output=task / "out", truth=truth)
    start = ApptainerRuntime(engine, {"contact": image}, tmp_path).start(spec, task, "contact")
    assert start.container is not None
    program, _, *options = start.argv[: start.argv.index(str(image.path)) + 1]
    refusing = [
        *(labels, truth, truth / "contacts.parquet"),
        *map(Path, ("/", "/etc", "/usr", "/opt/pyscale/code", Path.home(), "/var/lib")),
    ]
    writable = [task, Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]
    # Where the machine's /tmp holds them, their place inside is scratch: that is no harm.
    harmless = [labels.parent, images.path]
    before = files_below(tmp_path) | files_below(images.path)
    with prepared(start.container.model_dump(), start.env) as environment:
        probe = ("python", "-c", WRITE_WHERE_POSSIBLE, *map(str, refusing + writable + harmless))
        said = subprocess.run(
            [program, "exec", *options, *probe],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    written = [Path(line) for line in said.stdout.splitlines()]
    assert [path for path in written if path not in harmless] == writable
    # The task's own folder lies in `runs`, which is left out of the comparison.
    assert files_below(tmp_path) | files_below(images.path) == before
    assert [path.name for path in task.iterdir()] == ["written-by-a-test"]
    for path in writable[1:]:
        assert not (path / "written-by-a-test").exists(), "scratch is not the machine's own"


@pytest.fixture
def command(tmp_path, images, capsys, monkeypatch):
    """Run pyscale in a folder of the test's own; another `folder` may replace that of images.

    It is a process of its own where another program is to start it, `before`.
    """
    monkeypatch.chdir(tmp_path)

    def run(*arguments, folder=images, before=()):
        if before:
            return pyscale(tmp_path, folder, *arguments, before=before)
        monkeypatch.setenv("PYSCALE_IMAGES_FOLDER", str(folder.path))
        return answer_of(capsys, "pyscale", *arguments)

    return run


@pytest.fixture
def own_images(tmp_path, images):
    """A copy of the smallest image with its lock, to be spoilt."""
    folder = ImageFolder(tmp_path / "images")
    folder.path.mkdir()
    shutil.copyfile(images.sif("contact"), folder.sif("contact"))
    folder.record("contact", images.read_lock().images["contact"])
    return folder


CONTACT = (
    *("run", "labels", "--only", "contact", "--workers", "1", "--repeats", "1"),
    *("--runtime", "apptainer", "--set", "retries=0", "--data"),
)


def refused(said, *fragments):
    assert said.code == 2, said
    sentence = said.err.strip().splitlines()[-1]
    assert sentence.startswith("error: ")
    assert "Traceback" not in said.err
    for fragment in fragments:
        assert fragment in sentence


def flip_a_byte(sif):
    with sif.open("r+b") as file:
        file.seek(sif.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0xFF]))


def test_an_image_that_is_absent_changed_or_for_another_machine_does_not_run(
    command, labels, own_images, tmp_path
):
    said = command(*CONTACT, labels, folder=ImageFolder(tmp_path / "none"))
    refused(said, "no image contact at", "pyscale image build contact")
    flip_a_byte(own_images.sif("contact"))
    said = command(*CONTACT, labels, folder=own_images)
    refused(said, "contact.sif has sha256", "--set unlocked_images=true")
    locked = own_images.read_lock().images["contact"]
    own_images.record("contact", locked.model_copy(update={"architecture": "aarch64"}))
    said = command(*CONTACT, labels, "--set", "unlocked_images=true", folder=own_images)
    refused(said, "is for aarch64, but this machine is")
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_an_image_without_a_lock_runs_only_when_told(command, labels, own_images, tmp_path):
    own_images.lock_file.unlink()
    refused(command(*CONTACT, labels, folder=own_images), "images.lock has no entry for contact")
    said = command(*CONTACT, labels, "--set", "unlocked_images=true", folder=own_images)
    assert said.code == 0, said
    assert "other code" not in said.err
    (path,) = (tmp_path / "runs").iterdir()
    containers = read_provenance(path).containers
    assert containers is not None
    assert [image.locked for image in containers.images] == [False]


@pytest.mark.slow
def test_an_image_of_other_code_is_warned_of(command, labels, own_images):
    locked = own_images.read_lock().images["contact"]
    own_images.record("contact", locked.model_copy(update={"content_sha256": "0" * 64}))
    said = command(*CONTACT, labels, folder=own_images)
    assert said.code == 0, said
    assert "contact.sif is older than this pyscale" in said.err


@pytest.mark.slow
def test_a_run_goes_on_with_its_image_or_not_at_all(command, labels, own_images, tmp_path):
    assert command(*CONTACT, labels, folder=own_images).code == 0
    (path,) = (tmp_path / "runs").iterdir()
    sif = own_images.sif("contact")
    # The same bytes with another time are the same image.
    os.utime(sif, (1, 1))
    assert command("resume", path.name, folder=own_images).code == 0
    flip_a_byte(sif)
    said = command("resume", path.name, folder=own_images)
    refused(said, "contact.sif has sha256", f"the run {path.name} began with")
    sif.unlink()
    refused(command("resume", path.name, folder=own_images), "is gone")


@pytest.mark.slow
def test_a_movie_of_links_is_read_through_them(command, tmp_path, labels):
    """As data managers lay folders out: names here, bytes in a store elsewhere."""
    store, movie = tmp_path / "store", tmp_path / "disk" / "movie"
    store.mkdir()
    movie.mkdir(parents=True)
    for number, frame in enumerate(tifffile.imread(labels)):
        tifffile.imwrite(store / f"{number}.tif", frame)
        (movie / f"frame{number}.tif").symlink_to(f"../../store/{number}.tif")
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    named = tmp_path / "elsewhere" / "deep" / "named"
    named.symlink_to(movie)
    said = command(*CONTACT, named, "--axes", "TYX")
    assert said.code == 0, said
    (path,) = (tmp_path / "runs").iterdir()
    result = results(RunFolder(path))["contact-n1-b1/w0"]
    assert result.counters.frames == 6
    assert result.counters.input_bytes == sum(f.stat().st_size for f in store.iterdir())


def test_no_namespaces_are_one_sentence_before_anything_starts(command, labels, tmp_path):
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    before = ["unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh"]
    said = command(*CONTACT, labels, before=before)
    refused(said, "cannot create user namespaces", "--runtime native")


def test_broken_fuse_is_one_sentence_before_anything_starts(command, labels, missing):
    if os.geteuid() != 0:
        missing("root", "run the tests as root, who alone may hide /dev/fuse")
    hide = 'mount --bind /dev/null /dev/fuse && exec "$@"'
    said = command(*CONTACT, labels, before=["unshare", "--mount", "sh", "-c", hide, "sh"])
    refused(said, "FUSE does not work here")


def test_a_stage_that_fails_inside_says_why_in_its_own_words(command, tmp_path):
    write_movie(tmp_path / "blank.ome.tif", np.zeros((4, 16, 16), np.uint16), "TYX")
    said = command(*CONTACT, tmp_path / "blank.ome.tif")
    assert said.code == 1
    assert "contact-n1-b1 failed: " in said.err
    assert "no frame of blank.ome.tif has a label" in said.err
