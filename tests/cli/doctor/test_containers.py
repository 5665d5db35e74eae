"""What the container program may do on this machine is tried, and the way to get it is named."""

import os

import pytest

from programs import put_program
from pyscale.doctor import containers
from pyscale.images.catalog import catalog
from pyscale.images.content import content_sha256
from pyscale.images.engine import Engine
from pyscale.images.lockfile import ImageFolder


@pytest.mark.parametrize(
    ("runtime", "status"), [("apptainer", "problem"), ("native", "not applicable")]
)
def test_a_machine_without_container_program_says_how_to_get_one(
    subject, tmp_path, monkeypatch, runtime, status
):
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = containers.containers(subject(runtime=runtime))
    assert (found.check, found.status) == ("container.engine", status)
    assert "load its module" in found.remedy


def test_the_program_of_this_machine_is_described(engine, subject):
    by_check = {
        finding.check: finding for finding in containers.containers(subject(runtime="apptainer"))
    }
    assert by_check["container.engine"].sentence.startswith(f"{engine.named} at ")
    if not containers.installed_setuid(engine):
        assert {"container.user_namespaces", "container.fuse"} <= set(by_check)


def test_a_setuid_starter_is_found_where_the_program_says_it_is(tmp_path):
    starter = tmp_path / "libexec" / "apptainer" / "bin" / "starter-suid"
    starter.parent.mkdir(parents=True)
    starter.touch()
    program = put_program(tmp_path, "apptainer", f"echo LIBEXECDIR={tmp_path}/libexec")
    engine = Engine(str(program), "1.4.5")
    assert not containers.installed_setuid(engine)
    starter.chmod(0o4755)
    assert containers.installed_setuid(engine)


def test_a_kernel_without_user_namespaces_is_a_problem_where_images_are_run():
    lack = "this user cannot create user namespaces: ask an administrator"
    found = containers.user_namespaces(lack, needed=True)
    assert (found.status, found.remedy) == ("problem", "ask an administrator")
    assert containers.user_namespaces(lack, needed=False).status == "warning"
    assert containers.user_namespaces(None, needed=True).status == "ok"


def test_without_fuse_or_squashfuse_images_are_unpacked_at_each_start(tmp_path, monkeypatch):
    device, program = tmp_path / "fuse", tmp_path / "bin" / "apptainer"
    program.parent.mkdir()
    program.touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    engine = Engine(str(program), "1.4.5")
    found = containers.fuse(device, engine, needed=True)
    assert found.status == "warning"
    assert "no such file" in found.sentence
    assert "container_start" in found.sentence
    device.touch()
    assert "no squashfuse" in containers.fuse(device, engine, needed=True).sentence
    (tmp_path / "squashfuse").touch(mode=0o755)
    assert containers.fuse(device, engine, needed=True).status == "ok"


def test_what_building_lacks_is_named_and_no_problem(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    lacks = list(containers.building())
    assert {finding.status for finding in lacks} <= {"ok", "not applicable"}
    if not os.access("/usr/sbin/mksquashfs", os.X_OK):
        assert "container.building.squashfs-tools" in {finding.check for finding in lacks}


@pytest.fixture
def look(subject):
    def look():
        return {one.check: one for one in containers.images(subject("labels", runtime="apptainer"))}

    return look


@pytest.fixture
def contact(make_sif, tmp_path):
    """A small image in the folder of images, which no lock names."""
    return make_sif(tmp_path / "images_folder" / "contact.sif")


def test_absent_images_are_problems_of_runs_in_images_with_the_command_that_builds_them(
    look, subject
):
    found = look()
    assert set(found) == {"image.contact", "image.track"}
    assert {one.status for one in found.values()} == {"problem"}
    assert found["image.contact"].remedy == "run `pyscale image build contact`, or pull it"
    native = containers.images(subject("labels", runtime="native"))
    assert {one.status for one in native} == {"not applicable"}


def test_an_image_is_judged_by_its_lock(look, contact, lock_image):
    assert "no entry for contact" in look()["image.contact"].sentence
    as_now = {"content_sha256": content_sha256(catalog()["contact"])}
    lock_image(contact, **as_now)
    found = look()["image.contact"]
    assert found.status == "ok"
    lock_image(contact, content_sha256="2" * 64)
    older = look()["image.contact"]
    assert (older.status, older.remedy) == ("warning", "run `pyscale image build contact`")
    lock_image(contact, **as_now)
    with contact.open("r+b") as file:
        file.truncate(contact.stat().st_size - 4096)
    assert look()["image.contact"].status == "problem"


def test_a_lock_that_is_none_is_a_problem(look, tmp_path):
    folder = ImageFolder(tmp_path / "images_folder")
    folder.path.mkdir(parents=True)
    folder.lock_file.write_text("not a lock")
    (found,) = look().values()
    assert (found.check, found.status) == ("image.lock", "problem")
