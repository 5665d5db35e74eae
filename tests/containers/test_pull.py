"""Pull from a real registry on loopback, to which the container program pushes."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time

import pytest

from ports import free_ports
from pyscale.errors import UserError
from pyscale.images.build import pull
from pyscale.images.lockfile import ImageFolder, look

PATIENCE_S = 300.0


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


@pytest.fixture(autouse=True)
def _plain_http(monkeypatch):
    monkeypatch.setenv("APPTAINER_NOHTTPS", "true")


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


def test_what_was_pushed_is_pulled_byte_for_byte_and_locked_in_place_of_what_was_there(
    sent, ours, theirs, engine, make_sif
):
    # What a killed pull left goes with the next one.
    left = theirs.path / "building"
    left.mkdir(parents=True)
    (left / "image.sif").write_bytes(b"half")
    make_sif(theirs.sif("contact"), version="0.2.0")
    place = sent(ours.sif("contact"), "lab/contact:1")
    assert pull(theirs, place, engine) == "contact"
    assert theirs.sif("contact").read_bytes() == ours.sif("contact").read_bytes()
    arrived, pushed = theirs.read_lock().images["contact"], ours.read_lock().images["contact"]
    same = {"built_utc": arrived.built_utc, "engine": arrived.engine}
    assert arrived == pushed.model_copy(update={"origin": place, **same})
    assert look(theirs, "contact", reads=True).sha256 == arrived.sha256
    assert left_in(theirs) == {"contact.sif", "images.lock"}


def test_what_is_no_image_of_pyscale_is_not_installed(sent, theirs, engine, make_sif, tmp_path):
    of_others = sent(make_sif(tmp_path / "other.sif", image="../other"), "lab/other:1")
    with pytest.raises(UserError, match="lab/other:1 is not an image of this pyscale"):
        pull(theirs, of_others, engine)
    assert left_in(theirs) == set()


def test_what_a_registry_does_not_have_or_one_out_of_reach_is_one_sentence(
    registry, theirs, engine, capfd
):
    for source in (
        f"oras://{registry}/lab/absent:1",
        f"oras://127.0.0.1:{free_ports(1)[0]}/lab/contact:1",
        # No name ends so.
        "oras://registry.invalid/lab/contact:1",
    ):
        with pytest.raises(
            UserError, match=f"{source} cannot be pulled .*Apptainer says why above"
        ):
            pull(theirs, source, engine)
        assert "FATAL" in capfd.readouterr().err
    assert left_in(theirs) == set()
