import hashlib
import os
import subprocess
import zipfile

import pytest

from pyscale.errors import UserError
from pyscale.images import wheels
from pyscale.images.catalog import ImageDefinition
from pyscale.images.wheels import fetch_wheels
from pyscale_stages.errors import MissingPart, ResourceExhausted
from refusals import refused

CONTACT = ImageDefinition(name="contact", stage="contact", definition="contact")
TRACK = ImageDefinition(name="track", stage="track", definition="track")


def make_wheel(folder, name, content=""):
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr(f"{name}.py", content)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return file


def pin(file):
    name, version, _ = file.name.split("-", 2)
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"


@pytest.fixture
def lock(tmp_path, monkeypatch):
    """Lock of the image; pip finds nothing but what a folder of the test holds."""
    containers = tmp_path / "containers"
    (containers / "locks").mkdir(parents=True)
    monkeypatch.setattr("pyscale.images.catalog.shipped", lambda _: containers)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return containers / "locks" / "contact.txt"


@pytest.fixture
def two_wheels(tmp_path, lock):
    """Two wheels that the lock names and pip finds."""
    files = [make_wheel(tmp_path / "index", name) for name in ("alpha", "beta")]
    lock.write_text("# both\n" + "".join(map(pin, files)))
    return files


@pytest.fixture
def no_pip(monkeypatch):
    """Call to make every use of pip fail the test."""

    def forbid():
        def refuse(*arguments, **options):
            raise AssertionError("pip was called")

        monkeypatch.setattr(subprocess, "Popen", refuse)

    return forbid


@pytest.mark.slow
def test_of_the_wheels_of_a_lock_what_is_absent_or_damaged_is_fetched(tmp_path, two_wheels, no_pip):
    said = []
    folder = fetch_wheels(CONTACT, tmp_path / "parts", said.append)
    assert folder == tmp_path / "parts" / "contact" / "wheels"
    assert said[0] == "fetching 2 wheels"
    assert [p.name for p in (tmp_path / "parts").iterdir()] == ["contact"]
    whole, damaged = (folder / file.name for file in two_wheels)
    before = whole.stat().st_mtime_ns
    damaged.write_bytes(damaged.read_bytes()[:100])
    said.clear()
    fetch_wheels(CONTACT, tmp_path / "parts", said.append)
    assert said[0] == "fetching 1 wheels"
    assert whole.stat().st_mtime_ns == before
    for file in two_wheels:
        assert (folder / file.name).read_bytes() == file.read_bytes()
    no_pip()
    said.clear()
    fetch_wheels(CONTACT, tmp_path / "parts", said.append)
    assert said == []


@pytest.mark.slow
def test_what_another_image_has_fetched_is_linked_and_not_fetched_again(
    tmp_path, two_wheels, lock, no_pip
):
    theirs = fetch_wheels(CONTACT, tmp_path / "parts", print)
    other = make_wheel(tmp_path / "index", "gamma")
    (lock.parent / "track.txt").write_text("".join(map(pin, [*two_wheels, other])))
    said = []
    folder = fetch_wheels(TRACK, tmp_path / "parts", said.append)
    assert said[0] == "fetching 1 wheels"
    assert sorted(path.name for path in folder.iterdir()) == [
        f"{name}-1.0-py3-none-any.whl" for name in ("alpha", "beta", "gamma")
    ]
    linked = folder / two_wheels[0].name
    assert linked.samefile(theirs / linked.name)
    # What has the name and another content is not taken.
    linked.unlink()
    (theirs / linked.name).write_bytes(b"damaged")
    fetch_wheels(TRACK, tmp_path / "parts", print)
    assert linked.read_bytes() == two_wheels[0].read_bytes()
    linked.unlink()
    fetch_wheels(CONTACT, tmp_path / "parts", print)
    no_pip()
    fetch_wheels(TRACK, tmp_path / "parts", print)


@pytest.mark.slow
def test_a_wheel_with_another_hash_is_refused_in_one_sentence(tmp_path, two_wheels):
    make_wheel(tmp_path / "index", "beta", content="other = 1")
    with refused(UserError):
        fetch_wheels(CONTACT, tmp_path / "parts", print)
    assert list((tmp_path / "parts").rglob("*.whl")) == []


@pytest.mark.slow
def test_without_a_network_one_sentence_says_so(tmp_path, two_wheels, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    # Nothing listens on the discard port of this machine.
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with refused(UserError):
        fetch_wheels(CONTACT, tmp_path / "parts", print)


def test_an_environment_without_pip_is_told(tmp_path, two_wheels, monkeypatch):
    monkeypatch.setattr(wheels, "find_spec", lambda name: None)
    with refused(MissingPart):
        fetch_wheels(CONTACT, tmp_path / "parts", print)


@pytest.mark.slow
def test_a_full_disk_is_one_sentence_and_leaves_no_half_wheel(tmp_path, lock, mount_in_memory):
    disk = mount_in_memory(tmp_path / "small", "size=512k")
    noise = "".join(hashlib.sha512(str(i).encode()).hexdigest() for i in range(8000))
    lock.write_text(pin(make_wheel(tmp_path / "index", "alpha", content=noise)))
    with refused(ResourceExhausted):
        fetch_wheels(CONTACT, disk, print)
    assert [path for path in disk.rglob("*") if path.is_file()] == []


ZEROS = "0" * 64


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        None,
        "alpha",
        "alpha==1.0",
        "alpha==1.0 --hash=sha256:12",
        f"alpha>=1 --hash=sha256:{ZEROS}",
        f"alpha==1.0 --hash=sha256:{ZEROS}",
        f"torch===2.13.0+cpu --hash=sha256:{ZEROS}",
    ],
)
def test_a_lock_that_pins_no_wheel_or_one_that_is_nowhere_is_refused(tmp_path, lock, line):
    (tmp_path / "index").mkdir()
    if line is not None:
        lock.write_text(f"# head\n{line}\n")
    with refused(UserError):
        fetch_wheels(CONTACT, tmp_path / "parts", print)
