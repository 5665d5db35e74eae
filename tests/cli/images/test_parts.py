import dataclasses
import hashlib
import sys
import zipfile

import pytest

from pyscale.errors import UserError
from pyscale.images.build import fetch_jars, fetch_wheels
from pyscale.images.catalog import catalog
from pyscale_stages.errors import MissingPart
from pyscale_stages.track.jvm import MAVEN_COORDINATES
from refusals import refused

TRACKMATE = catalog()["track_trackmate"]


def put(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"jar")


def definition(*maven):
    image = dataclasses.replace(TRACKMATE.image, maven=maven)
    return dataclasses.replace(TRACKMATE, image=image)


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A wheel in a folder that pip finds, and an image whose lock names it."""
    folder = tmp_path / "index"
    folder.mkdir()
    path = folder / "tool-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tool.py", "")
        info = "tool-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tool\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        archive.writestr(f"{info}/RECORD", "")
    locks = tmp_path / "locks"
    locks.mkdir()
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    (locks / "contact.txt").write_text(f"tool==1.0 --hash=sha256:{sha256}\n")
    monkeypatch.setattr("pyscale.images.catalog.shipped", lambda _: tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return path


@pytest.mark.slow
def test_wheels_are_fetched_by_hash_and_a_complete_folder_needs_nothing(wheel, tmp_path):
    wheels = tmp_path / "parts" / "wheels"
    fetch_wheels(catalog()["contact"], wheels)
    assert (wheels / wheel.name).read_bytes() == wheel.read_bytes()
    wheel.unlink()
    fetch_wheels(catalog()["contact"], wheels)


@pytest.mark.slow
def test_a_wheel_that_is_not_the_locked_one_or_nowhere_is_refused(wheel, tmp_path):
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("more.py", "")
    with refused(UserError):
        fetch_wheels(catalog()["contact"], tmp_path / "wheels")
    wheel.unlink()
    with refused(UserError):
        fetch_wheels(catalog()["contact"], tmp_path / "wheels")


def local_maven(folder):
    """A Maven cache that holds one artifact and another that it needs."""
    for artifact, needs in (("tool", "part"), ("part", None)):
        place = folder / "org" / "example" / artifact / "1.0"
        put(place, f"{artifact}-1.0.jar")
        needed = (
            f"<dependencies><dependency><groupId>org.example</groupId><artifactId>{needs}"
            "</artifactId><version>1.0</version></dependency></dependencies>"
            if needs
            else ""
        )
        (place / f"{artifact}-1.0.pom").write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>"
            f"<artifactId>{artifact}</artifactId><version>1.0</version>{needed}</project>"
        )


def test_without_the_resolver_its_way_is_told(tmp_path, monkeypatch):
    assert TRACKMATE.image.maven == MAVEN_COORDINATES, "those that the stage asks for"
    monkeypatch.setitem(sys.modules, "jgo", None)
    with refused(MissingPart):
        fetch_jars(TRACKMATE, tmp_path / "jars")


@pytest.mark.slow
def test_jars_come_with_all_that_they_need(tmp_path, monkeypatch):
    pytest.importorskip("jgo")
    local_maven(tmp_path / "maven")
    monkeypatch.setenv("M2_REPO", str(tmp_path / "maven"))
    fetch_jars(definition("org.example:tool:1.0"), tmp_path / "jars")
    names = sorted(path.name for path in (tmp_path / "jars").iterdir())
    assert names == ["part-1.0.jar", "tool-1.0.jar"]


def test_what_maven_does_not_have_is_one_sentence(tmp_path):
    with refused(UserError):
        fetch_jars(definition("org.example.pyscale:absent:1.0"), tmp_path / "jars")
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []
