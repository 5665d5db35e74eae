"""Pull from a real registry on loopback, to which the container program pushes."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from ports import free_ports
from pyscale.errors import UserError
from pyscale.images.lockfile import ImageFolder, sha256_of, verify_image
from pyscale.images.pull import PullOptions, pull, with_images_here
from pyscale.planning.suite import Suite
from smallsystem import small_system_in

PATIENCE_S = 300.0
PLAIN = PullOptions(no_https=True)


@pytest.fixture
def registry(missing, tmp_path):
    """Address of a registry that uses plain http and asks nobody who he is."""
    program = shutil.which("docker-registry")
    if program is None:
        missing("docker-registry", "run scripts/provide_registry.sh as root")
    (port,) = free_ports(1, "127.0.0.1")
    config, log = tmp_path / "config.yml", tmp_path / "log"
    config.write_text(
        f"version: 0.1\nlog: {{level: warn}}\n"
        f"storage: {{filesystem: {{rootdirectory: '{tmp_path / 'registry'}'}}}}\n"
        f"http: {{addr: '127.0.0.1:{port}'}}\n"
    )
    with (
        log.open("wb") as said,
        subprocess.Popen([str(program), "serve", str(config)], stderr=said) as process,
    ):
        until = time.monotonic() + PATIENCE_S
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until
            time.sleep(0.02)
        yield f"127.0.0.1:{port}"
        process.terminate()


@pytest.fixture
def ours(make_sif, lock_image, tmp_path):
    """A folder with one locked image."""
    folder = ImageFolder(tmp_path / "ours")
    lock_image(make_sif(folder.sif("contact")))
    return folder


@pytest.fixture
def theirs(tmp_path):
    """The folder of another machine."""
    return ImageFolder(tmp_path / "theirs")


@pytest.fixture
def sent(engine, registry):
    """Push any SIF as it is, by the container program alone; return its address."""

    def send(sif, path):
        place = f"oras://{registry}/{path}"
        command = [engine.program, "push", "--no-https", str(sif), place]
        subprocess.run(command, check=True, capture_output=True)
        return place

    return send


def left_in(folder):
    """Files of a folder but for the locks that programs hold while they work."""
    if not folder.path.exists():
        return set()
    return {path.name for path in folder.path.iterdir() if not path.name.endswith(".busy")}


def test_what_was_pushed_is_pulled_byte_for_byte_and_locked(sent, ours, theirs, engine):
    # What a killed pull left goes with the next one.
    left = theirs.path / ".arriving"
    left.mkdir(parents=True)
    (left / "image.sif").write_bytes(b"half")
    place = sent(ours.sif("contact"), "lab/contact:1")
    name, arrived = pull(theirs, place, engine, PLAIN)
    assert name == "contact"
    assert theirs.sif("contact").read_bytes() == ours.sif("contact").read_bytes()
    pushed = ours.read_lock().images["contact"]
    same = {"built_utc": arrived.built_utc, "engine": arrived.engine}
    assert arrived == pushed.model_copy(update={"origin": place, **same})
    assert verify_image(theirs, "contact") == arrived
    assert left_in(theirs) == {"contact.sif", "images.lock"}
    # And under another name.
    name, _ = pull(theirs, place, engine, PullOptions(as_name="mine", no_https=True))
    assert name == "mine"
    verify_image(theirs, "mine")


def test_another_file_than_the_one_here_is_installed_only_when_told_to(
    sent, ours, theirs, engine, make_sif, tmp_path
):
    before = ours.sif("contact").read_bytes()
    other = make_sif(tmp_path / "contact.sif", version="0.2.0")
    place = sent(other, "lab/contact:1")
    make_sif(theirs.sif("contact"))
    for folder in (ours, theirs):
        with pytest.raises(UserError, match="nothing was installed; add --replace"):
            pull(folder, place, engine, PLAIN)
    assert ours.sif("contact").read_bytes() == before
    pull(ours, place, engine, PullOptions(replace=True, no_https=True))
    assert ours.sif("contact").read_bytes() == other.read_bytes()
    assert verify_image(ours, "contact").pyscale_version == "0.2.0"


def test_what_was_not_asked_for_or_is_no_image_of_pyscale_is_not_installed(
    sent, ours, theirs, engine, make_sif, tmp_path
):
    place = sent(ours.sif("contact"), "lab/contact:1")
    of_others = sent(make_sif(tmp_path / "other.sif", image="", stage=""), "lab/other:1")
    for source, options, said in (
        (place, {"sha256": "a" * 64}, "instead of a{64}: nothing was installed"),
        (place, {"as_name": "track"}, "runs the stage contact, but track is an image of track"),
        (of_others, {}, "lab/other:1 is not an image of pyscale.*nothing was installed"),
    ):
        with pytest.raises(UserError, match=said):
            pull(theirs, source, engine, PullOptions(no_https=True, **options))
        assert left_in(theirs) == set()
    right = PullOptions(sha256=sha256_of(ours.sif("contact")), no_https=True)
    assert pull(theirs, place, engine, right)[0] == "contact"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (PullOptions(sha256="abc"), "invalid --sha256 'abc'"),
        (PullOptions(as_name="../contact"), "invalid image name --as '../contact'"),
        (PullOptions(as_name=""), "invalid image name --as ''"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_asked(theirs, engine, options, said):
    with pytest.raises(UserError, match=re.escape(said)):
        pull(theirs, "oras://127.0.0.1:1/lab", engine, options)
    assert not theirs.path.exists()


def step_in(image):
    """A suite of one step of the user's own in an image."""
    return Suite.model_validate(
        {"name": "mine", "summary": "Mine", "stages": {"mine": {"command": "a", "image": image}}}
    )


def test_an_image_of_a_step_is_pulled_once_by_its_digest(registry, theirs, engine, monkeypatch):
    pinned = f"docker://{registry}/lab/tool:1@{small_system_in(registry, 'lab/tool')}"
    monkeypatch.setenv("APPTAINER_NOHTTPS", "true")
    suite = with_images_here(step_in(pinned), theirs, pulls=True)
    params = suite.stages["mine"].params
    assert params["pulled_from"] == pinned
    said = engine.ask(params["image"], "/bin/sh", "-c", "echo inside")
    assert said.stdout == "inside\n"
    assert left_in(theirs) == {"steps"}
    # It is not asked for again.
    monkeypatch.setenv("PATH", "/nowhere")
    assert with_images_here(step_in(pinned), theirs, pulls=True) == suite


def test_what_a_registry_does_not_have_or_one_out_of_reach_is_one_sentence(
    registry, theirs, engine, capfd
):
    for source in (
        f"oras://{registry}/lab/absent:1",
        f"oras://127.0.0.1:{free_ports(1)[0]}/lab/contact:1",
        # No name ends so.
        "oras://registry.invalid/lab/contact:1",
    ):
        with pytest.raises(UserError, match=f"{source} cannot be pulled .*says why above"):
            pull(theirs, source, engine, PLAIN)
        assert "FATAL" in capfd.readouterr().err
    assert left_in(theirs) == set()


@pytest.fixture
def silent_registry():
    """An address that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def is_pull(process, engine):
    try:
        return process.cmdline()[:2] == [engine.program, "pull"]
    except psutil.Error:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_pull_that_is_ended_ends_its_program_and_leaves_nothing_under_the_name(
    silent_registry, theirs, engine, number
):
    command = [sys.executable, "-m", "pyscale", "image", "pull", "--no-https"]
    process = subprocess.Popen(
        [*command, f"oras://{silent_registry}/lab/contact:1", "--images-folder", str(theirs.path)],
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + PATIENCE_S
    children = []
    # The program is asked for its version before.
    while not any(is_pull(child, engine) for child in children):
        assert process.poll() is None
        assert time.monotonic() < until
        children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 130
    _, alive = psutil.wait_procs(children, PATIENCE_S)
    assert alive == []
    assert left_in(theirs) == set()
