"""The container program is known by its answer, and what a machine lacks to build is named."""

import os
import platform
import shutil
import subprocess
import sys
from functools import partial

import pytest

from programs import put_program
from pyscale.images import engine as engine_module
from pyscale.images.engine import Engine, find_engine, lack_for_building, lack_of_id_ranges
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


@pytest.mark.parametrize("body", [None, "exit 1", "echo singularity-ce version 4.3.1", ":"])
def test_a_program_that_is_absent_or_no_engine_is_one_sentence(program, body):
    if body is not None:
        program("apptainer", body)
    with refused(MissingPart):
        find_engine()


def test_user_namespaces_are_tried(missing):
    if shutil.which("unshare") is None:
        missing("unshare", "install the package 'util-linux'")
    # Inside a namespace whose own limit is 0, no further one can be made.
    script = (
        "echo 0 > /proc/sys/user/max_user_namespaces; exec "
        f"{sys.executable} -c 'from pyscale.images.engine import lack_of_user_namespaces as lack; "
        "print(lack())'"
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
    assert "sysctl -w user.max_user_namespaces=" in answer.stdout


RANGE = "ada:100000:65536\n"


@pytest.mark.parametrize(
    ("subuid", "subgid", "lacking"),
    [
        (RANGE, RANGE, None),
        ("1001:100000:65536\n", "1000:100000:65536\n", "subuid"),
        ("adam:100000:65536\n", RANGE, "subuid"),
        (None, RANGE, "subuid"),
        (RANGE, "", "subgid"),
    ],
)
def test_a_user_needs_a_range_of_ids_and_of_groups(tmp_path, monkeypatch, subuid, subgid, lacking):
    monkeypatch.setattr(engine_module, "user_name", lambda _: "ada")
    for name, text in (("subuid", subuid), ("subgid", subgid)):
        if text is not None:
            (tmp_path / name).write_text(text)
    lack = lack_of_id_ranges(tmp_path)
    assert (lack is None) == (lacking is None)
    assert lack is None or f"{lacking} gives ada no range of ids" in lack


def test_the_first_lack_is_named_with_what_to_do(program, monkeypatch):
    program("mksquashfs", "")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    told = str(lack_for_building(debootstrap=False))
    assert "this machine is aarch64, but the images' locks are for x86_64" in told
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    for lack in ("lack_of_user_namespaces", "lack_of_id_ranges"):
        monkeypatch.setattr(engine_module, lack, lambda: None)
    # Those for administrators are found off the PATH.
    programs = {"squashfs-tools": ("mksquashfs", "no-such-program"), "debootstrap": ("absent",)}
    monkeypatch.setattr(engine_module, "_PROGRAMS", programs)
    assert lack_for_building(debootstrap=False) == (
        "not on PATH, but needed to build images: no-such-program: install the package "
        "'squashfs-tools' (Debian's name)"
    )
    programs.pop("squashfs-tools")
    assert lack_for_building(debootstrap=False) is None
    assert "'debootstrap'" in str(lack_for_building(debootstrap=True))
