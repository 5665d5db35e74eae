import os
import platform
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from programs import put_program
from pyscale.images.engine import (
    Engine,
    find_engine,
    lack_of_architecture,
    lack_of_id_ranges,
    lack_of_programs,
    lack_of_space,
    lack_of_user_namespaces,
    lacks_for_building,
)
from pyscale_stages.errors import MissingPart
from refusals import refused


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put a program that answers so alone on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return partial(put_program, tmp_path)


@pytest.mark.parametrize("version", ["1.4.5", "1.3.0-rc.2+12-gab"])
def test_the_engine_is_known_by_its_answer(program, version):
    path = program("apptainer", f"echo apptainer version {version}")
    found = find_engine()
    assert (found.program, found.named) == (str(path), f"apptainer {version}")


def test_root_needs_no_host_privileges(monkeypatch):
    engine = Engine("/bin/apptainer", "1.4.5")
    # Others get what the site gives.
    for user, options in ((0, ["--userns"]), (1000, [])):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        command = engine.command("exec", "x.sif", "true")
        assert command == ["/bin/apptainer", "exec", *options, "x.sif", "true"]


@pytest.mark.parametrize("body", ["exit 1", "echo singularity-ce version 4.3.1", ":"])
def test_a_program_that_is_no_engine_is_one_sentence(program, body):
    program("apptainer", body)
    with refused(MissingPart):
        find_engine()


def test_without_an_engine_it_is_said_how_to_get_one(program):
    with refused(MissingPart):
        find_engine()


def kernel(folder, **settings):
    for name, value in settings.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    return folder


def test_a_kernel_without_user_namespaces_is_named_with_its_setting(tmp_path):
    lack = lack_of_user_namespaces(kernel(tmp_path / "a", user__max_user_namespaces="0"))
    assert "/proc/sys/user/max_user_namespaces is 0" in lack.sentence
    assert "sysctl -w user.max_user_namespaces=" in lack.remedy
    # Namespaces for root alone are no obstacle to root.
    proc = kernel(tmp_path / "b", kernel__unprivileged_userns_clone="0")
    assert "unprivileged_userns_clone=1" in lack_of_user_namespaces(proc, is_root=False).remedy
    real = lack_of_user_namespaces(tmp_path / "absent", is_root=True)
    assert lack_of_user_namespaces(proc, is_root=True) == real


def test_user_namespaces_are_tried_and_not_only_read(missing):
    if shutil.which("unshare") is None:
        missing("unshare", "install the package 'util-linux'")
    # Inside a namespace whose own limit is 0, no further one can be made.
    script = (
        "echo 0 > /proc/sys/user/max_user_namespaces; exec "
        f"{sys.executable} -c 'from pathlib import Path; "
        "from pyscale.images.engine import lack_of_user_namespaces as lack; "
        'print(lack(Path("/nowhere")))\''
    )
    answer = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )
    if "Operation not permitted" in answer.stderr:
        missing("user namespaces", "allow them by user.max_user_namespaces")
    assert "this user cannot create user namespaces on this machine (unshare" in answer.stdout, (
        answer
    )


RANGE = "ada:100000:65536\n"


@pytest.mark.parametrize(
    ("subuid", "subgid", "lacking"),
    [
        (RANGE, RANGE, None),
        ("1001:100000:65536\n", RANGE, "subuid"),
        ("ada:100000:1000\n", RANGE, "subuid"),
        ("ada:100000:1000\nada:300000:65536\n", RANGE, None),
        ("adam:100000:65536\n", RANGE, "subuid"),
        ("ada\n\nada:x:y\n", RANGE, "subuid"),
        ("", RANGE, "subuid"),
        (None, RANGE, "subuid"),
        (RANGE, None, "subgid"),
    ],
)
def test_a_user_needs_a_range_of_ids_and_of_groups(tmp_path, subuid, subgid, lacking):
    for name, text in (("subuid", subuid), ("subgid", subgid)):
        if text is not None:
            (tmp_path / name).write_text(text)
    lack = lack_of_id_ranges("ada", tmp_path)
    assert (lack is None) == (lacking is None)
    if lack is not None:
        assert f"{lacking} gives the user ada no range of 65536 ids" in lack.sentence
        assert "usermod --add-subuids" in lack.remedy


def test_all_lacks_are_told_in_one_go(program, tmp_path, monkeypatch):
    program("mksquashfs", "")
    programs = lack_of_programs(("mksquashfs", "no-such-program"), "squashfs-tools")
    assert programs is not None
    assert "not on PATH, but needed to build images: no-such-program" in programs.sentence
    assert "'squashfs-tools'" in programs.remedy
    assert lack_of_programs(("mksquashfs",), "squashfs-tools") is None
    machine = lack_of_architecture("aarch64")
    assert "this machine is aarch64, but the images' locks are for x86_64" in str(machine)
    assert lack_of_architecture("x86_64") is None
    space = lack_of_space(tmp_path / "not" / "yet" / "there", 2**80)
    assert space is not None
    assert "GiB left" in space.sentence
    assert lack_of_space(tmp_path, 1) is None
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    parts = [lack.part for lack in lacks_for_building(tmp_path, 2**80, debootstrap=False)]
    assert (parts[0], parts[-1]) == ("architecture", "space")


def test_a_program_for_administrators_is_found_off_the_path(monkeypatch, missing):
    if not Path("/usr/sbin/debootstrap").exists():
        missing("debootstrap", "install the package 'debootstrap'")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert lack_of_programs(("debootstrap",), "debootstrap") is None
