"""Builds by the real container program: layers, reuse, and the ways in which one can fail.

The images are toys of a shell and two programs, so that a layer takes less than a second; the
code that builds them is the real one.
"""

import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from pyscale.errors import UserError
from pyscale.images.build import build
from pyscale.images.lockfile import look
from smallsystem import CONTACT

CHECKOUT = Path(__file__).resolve().parents[2]
PATIENCE_S = 300.0
MORE = "    echo more > /more\n"
ALL = ["Debian base", "contact: libraries", "contact: stage code"]


def add_step(containers, definition, step):
    with (containers / f"{definition}.def").open("a", encoding="utf-8") as file:
        file.write(step)


def verified(images):
    """What the lock says of the image, all of whose bytes are so."""
    image = look(images, "contact", reads=True)
    assert image.sha256 == image.lock.sha256, image.sentence
    return image.lock


def contents(engine, sif, *command):
    return subprocess.run(
        engine.command("exec", str(sif), *command), capture_output=True, text=True, check=True
    ).stdout


def test_an_image_is_built_in_three_layers_and_locked_and_built_again_where_it_must_be(
    build_toy, images, engine
):
    assert build_toy() == ALL
    sif = images.sif("contact")
    said = contents(engine, sif, "cat", "/libraries", "/stage", "/after_code")
    assert said == "libraries\nstage\ncode\n"
    code = contents(engine, sif, "cat", "/code/pyscale_stages/contact/stage.py")
    assert code == (CHECKOUT / "stages/pyscale_stages/contact/stage.py").read_text()
    locked = verified(images)
    assert locked.engine == engine.named
    labels = engine.labels_of(sif)
    assert labels["org.pyscale.image"] == labels["org.pyscale.stage"] == "contact"
    assert labels["org.pyscale.content_sha256"] == locked.content_sha256
    # What is current is not built; a damaged or absent image is.
    assert build_toy() == []
    with sif.open("ab") as file:
        file.write(b"x")
    assert build_toy() == ALL[2:]
    sif.unlink()
    assert build_toy() == ALL[2:]
    verified(images)
    assert build_toy(force=True) == ALL


def test_only_what_changed_is_built_and_takes_the_place_of_the_layer_before(
    build_toy, containers, images
):
    build_toy()
    add_step(containers, "stage", MORE)
    assert build_toy() == ALL[2:]
    add_step(containers, "libraries", MORE)
    assert build_toy() == ALL[1:]
    assert len(list((images.path / "layers").iterdir())) == 2


def test_temporary_files_of_the_machine_and_what_the_user_exports_are_out_of_reach(
    build_toy, containers, monkeypatch
):
    # A definition that clears /tmp clears its own.
    folder = Path("/tmp") / f"pyscale-test-{os.getpid()}"
    folder.mkdir()
    monkeypatch.setenv("APPTAINERENV_SECRET", "of the user")
    monkeypatch.setenv("APPTAINER_BIND", "/usr/share:/srv")
    try:
        add_step(
            containers, "libraries", f"    [ ! -e {folder} ]\n    touch /tmp/mine /var/tmp/mine\n"
        )
        add_step(containers, "libraries", '    [ -z "$SECRET" ]\n    [ ! -e /srv/doc ]\n')
        build_toy()
    finally:
        folder.rmdir()
    assert not Path("/tmp/mine").exists()
    assert not Path("/var/tmp/mine").exists()


def test_a_broken_definition_is_one_sentence_and_keeps_the_image_that_was_there(
    build_toy, containers, images, capfd
):
    build_toy()
    before = verified(images)
    add_step(containers, "libraries", "    echo no such wheel: numpy >&2\n    exit 7\n")
    with pytest.raises(
        UserError, match="building contact: libraries failed: Apptainer says why above"
    ):
        build_toy()
    assert "no such wheel: numpy" in capfd.readouterr().err
    assert verified(images) == before


def test_two_builds_of_one_image_make_it_once(build_toy, images):
    build_toy()
    images.sif("contact").unlink()
    with ThreadPoolExecutor(2) as pool:
        both = pool.map(lambda _: build([CONTACT], images), range(2))
        built = [name for each in both for name in each]
    assert built == ["contact"]
    verified(images)


def test_a_build_that_is_interrupted_leaves_no_process_and_nothing_half_made(
    build_toy, containers, images
):
    good = (containers / "libraries.def").read_text()
    add_step(containers, "libraries", "    touch /tmp/begun\n    sleep 3600 & sleep 3600\n")
    begun = images.path / "building" / "inside" / "tmp" / "begun"
    earlier = set(psutil.Process().children(recursive=True))
    below = []

    def interrupt():
        while not begun.exists():
            threading.Event().wait(0.05)
        below.extend(set(psutil.Process().children(recursive=True)) - earlier)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        build_toy()
    assert len(below) > 2
    _, alive = psutil.wait_procs(below, PATIENCE_S)
    assert alive == []
    assert images.read_lock().images == {}
    (containers / "libraries.def").write_text(good)
    assert build_toy() == ALL[1:]
    verified(images)
