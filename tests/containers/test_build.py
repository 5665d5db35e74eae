"""Builds by the real container program: layers, reuse, and every way in which one can fail.

The images are toys of a shell and two programs, so that a layer takes less than a second; the
code that builds them is the real one.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

import pyscale.images.build as build_module
from pyscale.errors import UserError
from pyscale.images.catalog import ImageDefinition
from pyscale.images.listing import is_current
from pyscale.images.lockfile import ImageFolder, verify_image
from pyscale_stages.errors import MissingPart, ResourceExhausted

CHECKOUT = Path(__file__).resolve().parents[2]
CONTACT = ImageDefinition(name="contact", stage="contact", definition="contact")
PATIENCE_S = 300.0
MORE = "    echo more > /more\n"


def add_step(containers, definition, step):
    with (containers / f"{definition}.def").open("a", encoding="utf-8") as file:
        file.write(step)


def left_over(images):
    """All that a build may not leave: half-made files and folders."""
    building = [str(p) for p in (images.path / "building").glob("**/*")]
    return building + [str(p) for p in images.path.rglob("*.partial*")]


def contents(engine, sif, *command):
    return subprocess.run(
        engine.command("exec", str(sif), *command), capture_output=True, text=True, check=True
    ).stdout


def test_an_image_is_built_in_three_layers_and_locked_and_built_again_where_it_must_be(
    build_toy, images, engine
):
    built = build_toy()
    assert build_toy.made == ["base", "libraries", "image"]
    assert contents(engine, built.sif, "cat", "/libraries", "/stage") == "libraries\nstage\n"
    code = contents(engine, built.sif, "cat", "/code/pyscale_stages/contact/stage.py")
    assert code == (CHECKOUT / "stages/pyscale_stages/contact/stage.py").read_text()
    locked = verify_image(images, "contact")
    assert (built.sha256, built.size_bytes) == (locked.sha256, locked.size_bytes)
    assert locked.engine == f"{engine.name} {engine.version}"
    assert left_over(images) == []
    # What is current is not built.
    assert build_toy() == built.model_copy(update={"wall_s": None})
    assert [event.kind for event in build_toy.events] == ["current"]
    # A damaged or absent image is.
    with built.sif.open("ab") as file:
        file.write(b"x")
    assert not is_current(images, CONTACT)
    build_toy()
    assert build_toy.made == ["image"]
    built.sif.unlink()
    build_toy()
    assert build_toy.made == ["image"]
    verify_image(images, "contact")
    build_toy(force=True)
    assert build_toy.made == ["base", "libraries", "image"]


def test_only_what_changed_is_built(build_toy, containers):
    build_toy()
    add_step(containers, "stage", MORE)
    build_toy()
    assert build_toy.made == ["image"]
    add_step(containers, "contact", MORE)
    build_toy()
    assert build_toy.made == ["libraries", "image"]


def test_a_base_that_is_given_is_built_on(build_toy, images, engine, tmp_path):
    build_toy()
    [base] = (images.path / "layers").glob("base-*.sif")
    given = tmp_path / "given.sif"
    shutil.copy(base, given)
    elsewhere = build_toy.into(ImageFolder(tmp_path / "elsewhere"))
    built = elsewhere(base=str(given))
    assert elsewhere.made == ["libraries", "image"]
    assert contents(engine, built.sif, "cat", "/stage") == "stage\n"


def test_temporary_files_of_the_machine_and_what_the_user_exports_are_out_of_reach(
    build_toy, containers, engine, monkeypatch
):
    # A definition that clears /tmp clears its own.
    folder = Path("/tmp") / f"pyscale-test-{os.getpid()}"
    folder.mkdir()
    monkeypatch.setenv(f"{engine.environment_prefix}SECRET", "of the user")
    monkeypatch.setenv(f"{engine.option_prefix}BIND", "/usr/share:/mnt")
    try:
        add_step(
            containers, "contact", f"    [ ! -e {folder} ]\n    touch /tmp/mine /var/tmp/mine\n"
        )
        add_step(containers, "contact", '    [ -z "$SECRET" ]\n    [ ! -e /mnt/doc ]\n')
        build_toy()
    finally:
        folder.rmdir()
    assert not Path("/tmp/mine").exists()
    assert not Path("/var/tmp/mine").exists()


def test_a_broken_definition_is_one_sentence_with_its_log_and_keeps_the_image_that_was_there(
    build_toy, containers, images
):
    before = build_toy()
    add_step(containers, "contact", "    echo no such wheel: numpy >&2\n    exit 7\n")
    with pytest.raises(UserError) as raised:
        build_toy()
    said = str(raised.value)
    assert "building contact.def failed: no such wheel: numpy" in said
    assert "no such wheel" in Path(said.rpartition(" ")[2]).read_text()
    (containers / "contact.def").write_text("Bootstrap: nonsense\nFrom: nowhere\n")
    with pytest.raises(UserError, match=r"building contact\.def failed: .*nonsense.*\.log$"):
        build_toy()
    assert verify_image(images, "contact").sha256 == before.sha256
    assert left_over(images) == []


@pytest.mark.parametrize(("layer", "left_kib"), [("libraries", 1024), ("image", 16)])
def test_a_disk_that_fills_up_is_one_sentence_and_nothing_half_made(
    build_toy, images, mount_in_memory, layer, left_kib
):
    disk = mount_in_memory(images.path, "size=48m")
    filler = disk / "filler"

    def fill(event):
        if (event.layer, event.kind) == (layer, "started"):
            room = os.statvfs(disk)
            filler.write_bytes(b"x" * (room.f_bavail * room.f_frsize - left_kib * 1024))

    build_toy.on_event = fill
    with pytest.raises(ResourceExhausted, match=r"the disk of .* (filled up|is full).*free space"):
        build_toy()
    assert not images.sif("contact").exists()
    assert images.read_lock().images == {}
    assert left_over(images) == []
    filler.unlink()
    build_toy.on_event = lambda event: None
    build_toy()
    verify_image(images, "contact")


def test_too_small_a_disk_is_told_before_anything_is_started(build_toy, images, monkeypatch):
    monkeypatch.setattr(build_module, "NEEDED_BYTES", {"cpu": 2**60, "cuda": 2**60})
    with pytest.raises(MissingPart, match=r"GiB left, but a build takes up to .*free space"):
        build_toy()
    assert not images.path.exists()


def test_two_builds_of_one_image_make_each_layer_once(build_toy, images):
    other = build_toy.into(images)
    waiting = threading.Event()
    second = []
    thread = threading.Thread(target=lambda: second.append(other()))

    def start_another(event):
        if (event.layer, event.kind) == ("libraries", "started"):
            thread.start()
            assert waiting.wait(PATIENCE_S)

    def note(event):
        if event.kind == "waiting":
            waiting.set()

    build_toy.on_event, other.on_event = start_another, note
    first = build_toy()
    thread.join(PATIENCE_S)
    assert build_toy.made == ["base", "libraries", "image"]
    assert other.made == []
    assert second[0].sha256 == first.sha256
    assert left_over(images) == []


DRIVER = """
import json, sys
from pathlib import Path
from pyscale.images import build as module
from pyscale.images.catalog import definitions
from pyscale.images.lockfile import ImageFolder

def hear(event):
    print(json.dumps([event.layer, event.kind, event.detail]), flush=True)

options = module.BuildOptions(mirror="file:///nowhere")
module.build(definitions([]), ImageFolder(Path(sys.argv[1])), options, hear)
"""


@pytest.fixture
def start_build(engine, containers, images):
    """Start the build of the toy image in a process of its own, from a copy of this checkout."""
    del engine
    checkout = containers.parent
    for source in ("cli/pyscale", "stages/pyscale_stages", "config"):
        shutil.copytree(
            CHECKOUT / source, checkout / source, ignore=shutil.ignore_patterns("__pycache__")
        )
    environment = os.environ | {"PYTHONPATH": f"{checkout / 'cli'}:{checkout / 'stages'}"}
    with ExitStack() as ends:

        def start():
            process = subprocess.Popen(
                [sys.executable, "-c", DRIVER, str(images.path)],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            ends.enter_context(process)
            ends.callback(process.kill)
            return process

        yield start


def read_until(process, text):
    """Read what a build tells until a line holds `text`."""
    assert process.stdout is not None
    for line in process.stdout:
        if text in json.loads(line)[2]:
            return
    pytest.fail(f"the build ended early: {process.communicate()[1]}")


@pytest.mark.parametrize(("layer", "how"), [("contact", signal.SIGINT), ("stage", signal.SIGKILL)])
def test_an_ended_build_leaves_no_process_and_nothing_half_made(
    start_build, containers, images, layer, how
):
    good = (containers / f"{layer}.def").read_text()
    add_step(containers, layer, "    echo about to sleep\n    sleep 3600 & sleep 3600\n")
    process = start_build()
    read_until(process, "about to sleep")
    below = psutil.Process(process.pid).children(recursive=True)
    assert len(below) > 2
    process.send_signal(how)
    assert process.wait(PATIENCE_S) != 0
    _, alive = psutil.wait_procs(below, PATIENCE_S)
    assert alive == []
    assert not images.sif("contact").exists()
    assert images.read_lock().images == {}
    if how == signal.SIGINT:
        assert left_over(images) == []
    (containers / f"{layer}.def").write_text(good)
    again = start_build()
    said, complaints = again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 0, complaints
    assert ["image", "finished", ""] in [json.loads(line) for line in said.splitlines()]
    verify_image(images, "contact")
    assert left_over(images) == []
