"""Locks of Debian packages and of jars: what differs is told, and jars that differ are refused."""

import hashlib
import re
import runpy
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from atleastone import some
from pyscale.errors import UserError
from pyscale.images import partlocks
from pyscale.images.catalog import ImageDefinition, catalog
from pyscale.images.content import libraries_sha256
from pyscale.images.parts import fetch_jars
from refusals import refused

ROOT = Path(__file__).resolve().parents[3]
CONTACT, TRACK, TRACKMATE = (catalog()[name] for name in ("contact", "track", "track_trackmate"))


def built(folder, definition, **changes):
    """Leave the list of an image that was built from the locked versions, but for changes."""
    folder.make()
    own = partlocks.read_debian(partlocks.debian_lock_file(definition.name))
    packages = partlocks.read_debian(partlocks.debian_lock_file(partlocks.BASE)) | own | changes
    folder.debian_list(definition.name).write_text(partlocks.debian_text(packages))


@pytest.fixture
def jars(tmp_path):
    """Jars of TrackMate, put there by hand."""
    folder = tmp_path / "track_trackmate" / "jars"
    (folder / "deeper").mkdir(parents=True)
    (folder / "deeper" / "imagej-2.16.0.jar").write_bytes(b"imagej")
    (folder / "TrackMate-7.14.0.jar").write_bytes(b"trackmate")
    return folder


@pytest.fixture
def lock_file(tmp_path, monkeypatch):
    """Where the lock of its jars lies, which does not exist yet."""
    file = tmp_path / "locks" / "track_trackmate.txt"
    file.parent.mkdir()
    monkeypatch.setattr(ImageDefinition, "jars_lock_file", file)
    return file


def test_debian_packages_are_locked_for_the_base_and_what_images_add_to_it():
    base = partlocks.read_debian(partlocks.debian_lock_file(partlocks.BASE))
    assert {"libc6", "python3", "libgomp1"} <= base.keys()
    for definition in catalog().values():
        own = partlocks.read_debian(partlocks.debian_lock_file(definition.name))
        assert set(definition.debian) <= own.keys()
        assert bool(own) == bool(definition.debian)
        assert not own.keys() & base.keys()


def test_what_differs_from_the_locked_versions_is_told_once_for_all_images(folder):
    # One that was not built here is not compared.
    assert partlocks.doubts(folder, [CONTACT]) == []
    built(folder, CONTACT)
    assert partlocks.doubts(folder, [CONTACT]) == []
    for definition in (CONTACT, TRACK):
        built(folder, definition, libc6="9.9", extra="1")
    locked = partlocks.read_debian(partlocks.debian_lock_file(partlocks.BASE))["libc6"]
    (said,) = partlocks.doubts(folder, [CONTACT, TRACK])
    assert said.startswith("2 Debian packages differ from the locked version (extra 1 instead of ")
    assert f"libc6 9.9 instead of {locked})" in said
    # A package that an image lacks is told, and many are cut short.
    folder.debian_list("track").write_text("libc6=9.9\n")
    (said,) = partlocks.doubts(folder, [TRACK])
    assert "adduser absent instead of " in said
    assert ", …)" in said


def test_what_was_built_here_can_be_locked(folder, tmp_path, monkeypatch):
    locks = tmp_path / "locks"
    locks.mkdir()
    monkeypatch.setattr(partlocks, "debian_lock_file", lambda name: locks / f"{name}.txt")
    monkeypatch.setenv("PYSCALE_IMAGES_FOLDER", str(folder.path))
    folder.make()
    folder.debian_list("track").write_text("libc6=2\n")
    folder.debian_list("contact").write_text("libc6=2\nllvm=15\n")
    runpy.run_path(str(ROOT / "scripts" / "lock_debian.py"), run_name="__main__")
    written = {path.name: path.read_text() for path in locks.iterdir()}
    assert written == {"base.txt": "libc6=2\n", "contact.txt": "llvm=15\n"}
    assert partlocks.doubts(folder, [CONTACT, TRACK]) == []


def test_without_a_lock_jars_must_still_be_those_that_were_fetched(jars, lock_file, tmp_path):
    (jars / partlocks.JARS_RECORD).write_text(partlocks.jars_text(jars))
    # As sha256sum reads them.
    subprocess.run(["sha256sum", "--check", "--quiet", partlocks.JARS_RECORD], cwd=jars, check=True)
    assert hashlib.sha256(b"trackmate").hexdigest() in (jars / partlocks.JARS_RECORD).read_text()
    fetch_jars(TRACKMATE, tmp_path, print)
    (jars / "deeper" / "imagej-2.16.0.jar").unlink()
    (jars / "imagej-2.16.0.jar").write_bytes(b"imagej")
    with refused(UserError):
        fetch_jars(TRACKMATE, tmp_path, print)


@pytest.mark.parametrize("name", ["TrackMate-7.14.0.jar", "more.jar"])
def test_locked_jars_are_taken_and_others_refused(jars, lock_file, tmp_path, name):
    lock_file.write_text(partlocks.jars_text(jars))
    fetch_jars(TRACKMATE, tmp_path, print)
    (jars / name).write_bytes(b"another")
    with refused(UserError):
        fetch_jars(TRACKMATE, tmp_path, print)


def test_a_lock_of_jars_is_part_of_what_the_image_is_made_from(folder, lock_file):
    without = libraries_sha256(TRACKMATE)
    (said,) = partlocks.doubts(folder, [TRACKMATE])
    assert "no locked checksums" in said
    lock_file.write_text("a lock")
    assert libraries_sha256(TRACKMATE) != without
    assert partlocks.doubts(folder, [TRACKMATE]) == []


EXTRA_OF_DEFINITION = {
    "register_denoise": "register_denoise",
    "segment": "segment_cellpose4",
    "segment_cellpose3": "segment",
    "contact": "contact",
    "track": "track",
    "track_trackmate": "track_trackmate",
    "machine": "storage",
    "kernels": "kernels",
    "loader": "loader",
    "reconstruct": "reconstruct",
    "reconstruct_cuda": "reconstruct_astra",
}
ALL = pytest.mark.parametrize("definition", catalog().values(), ids=lambda d: d.name)


def requirements(file):
    """Requirements of a file and of those it includes."""
    found = []
    for line in file.read_text().splitlines():
        if line.startswith("-r "):
            found += requirements(file.parent / line.removeprefix("-r "))
        elif line and not line.startswith("#"):
            found.append(Requirement(line))
    return found


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def constraints():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


@ALL
def test_a_lock_is_as_it_would_be_written_from_one_wheel_of_each_package(definition):
    pins, text = partlocks.read_pins(definition), definition.lock_file.read_text()
    assert partlocks.lock_text(definition, reversed(pins)) == text
    assert len({pin.key for pin in pins}) == len(pins) > 10
    # It tells no place, and how it was made.
    assert f"requirements/{definition.definition}.in" in text
    assert re.search(r"//|/\w+/\w+/", text) is None


@ALL
def test_a_lock_meets_the_requirements_it_was_made_from(definition):
    versions = {pin.key: pin.version for pin in partlocks.read_pins(definition)}
    for wanted in some(requirements(definition.requirements_file)):
        assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), wanted


@ALL
def test_a_lock_has_the_versions_that_pyscale_is_tested_with(definition):
    tested = constraints()
    differ = {
        pin.key: (pin.version, tested[pin.key])
        for pin in partlocks.read_pins(definition)
        if tested.get(pin.key, pin.version) != pin.version
    }
    if definition.device == "cuda":
        assert differ.pop("torch") == (tested["torch"].partition("+")[0], tested["torch"])
    if definition.definition == "segment":
        assert differ.pop("cellpose")[0].startswith("4.")
    assert differ == {}


@ALL
def test_requirements_say_what_the_project_says(definition):
    extra = EXTRA_OF_DEFINITION[definition.definition]
    said = {
        canonicalize_name(r.name): r.specifier
        for r in map(
            Requirement,
            project()["dependencies"] + project()["optional-dependencies"][extra],
        )
    }
    wanted = {
        canonicalize_name(r.name): r.specifier for r in requirements(definition.requirements_file)
    }
    for line in project()["optional-dependencies"][extra]:
        assert canonicalize_name(Requirement(line).name) in wanted
    for name in some(wanted.keys() & said.keys()):
        assert wanted[name] == said[name], name


def test_images_for_gpus_get_torch_with_cuda_and_versions_of_cellpose_are_apart():
    for definition in some(catalog().values()):
        versions = {pin.key: pin.version for pin in partlocks.read_pins(definition)}
        assert any(key.startswith("nvidia-cu") for key in versions) == (definition.device == "cuda")
        if definition.stage == "segment":
            version = "3." if "cellpose3" in definition.name else "4."
            assert versions["cellpose"].startswith(version), definition.name


def test_a_build_of_torch_is_named_so_that_no_other_is_taken():
    torch = partlocks.WheelPin(name="torch", version="2.13.0", sha256="0" * 64)
    other = partlocks.WheelPin(name="torchvision", version="0.28.0", sha256="0" * 64)
    assert torch.requirement.startswith("torch===2.13.0 ")
    assert other.requirement.startswith("torchvision==0.28.0 ")
