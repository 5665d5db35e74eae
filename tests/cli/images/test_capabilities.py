"""What a machine lacks for building images is said before anything is started."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.images import capabilities
from pyscale.images.capabilities import (
    lack_of_architecture,
    lack_of_id_ranges,
    lack_of_programs,
    lack_of_space,
    lack_of_user_namespaces,
    lacks_for_building,
)


def kernel(folder: Path, **settings: str) -> Path:
    for name, value in settings.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    return folder


def test_a_kernel_without_user_namespaces_is_named_with_its_setting(tmp_path: Path) -> None:
    lack = lack_of_user_namespaces(kernel(tmp_path, user__max_user_namespaces="0"))
    assert lack is not None
    assert "/proc/sys/user/max_user_namespaces is 0" in lack.sentence
    assert "sysctl -w user.max_user_namespaces=" in lack.remedy


def test_namespaces_for_root_alone_are_no_obstacle_to_root(tmp_path: Path) -> None:
    proc = kernel(tmp_path, kernel__unprivileged_userns_clone="0")
    lack = lack_of_user_namespaces(proc, is_root=False)
    assert lack is not None
    assert "unprivileged_userns_clone=1" in lack.remedy
    real = lack_of_user_namespaces(tmp_path / "absent", is_root=True)
    assert lack_of_user_namespaces(proc, is_root=True) == real


def test_user_namespaces_are_tried_and_not_only_read(missing: Callable[[str, str], None]) -> None:
    if shutil.which("unshare") is None:
        missing("unshare", "install the package 'util-linux'")
    # Inside a namespace whose own limit is 0, no further one can be made.
    script = (
        "echo 0 > /proc/sys/user/max_user_namespaces; exec "
        f"{sys.executable} -c 'from pathlib import Path; "
        "from pyscale.images.capabilities import lack_of_user_namespaces as lack; "
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


@pytest.mark.parametrize(
    ("subuid", "fine"),
    [
        ("ada:100000:65536\n", True),
        ("1001:100000:65536\n", False),
        ("ada:100000:1000\n", False),
        ("ada:100000:1000\nada:300000:65536\n", True),
        ("adam:100000:65536\n", False),
        ("ada\n\nada:x:y\n", False),
        ("", False),
        (None, False),
    ],
)
def test_a_user_needs_a_range_of_ids(tmp_path: Path, subuid: str | None, fine: bool) -> None:
    (tmp_path / "subgid").write_text("ada:100000:65536\n")
    if subuid is not None:
        (tmp_path / "subuid").write_text(subuid)
    lack = lack_of_id_ranges("ada", tmp_path)
    assert (lack is None) == fine
    if lack is not None:
        assert "subuid gives the user ada no range of 65536 ids" in lack.sentence
        assert "usermod --add-subuids" in lack.remedy


def test_a_range_of_groups_is_needed_too(tmp_path: Path) -> None:
    (tmp_path / "subuid").write_text("ada:100000:65536\n")
    lack = lack_of_id_ranges("ada", tmp_path)
    assert lack is not None
    assert "subgid" in lack.sentence


def test_absent_programs_are_named_with_their_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mksquashfs").write_text("")
    (tmp_path / "mksquashfs").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    lack = lack_of_programs(("mksquashfs", "no-such-program"), "squashfs-tools")
    assert lack is not None
    assert "not on PATH, but needed to build images: no-such-program" in lack.sentence
    assert "'squashfs-tools'" in lack.remedy
    assert lack_of_programs(("mksquashfs",), "squashfs-tools") is None


def test_a_foreign_machine_is_told_what_the_locks_are_for() -> None:
    lack = lack_of_architecture("aarch64")
    assert lack is not None
    assert "this machine is aarch64, but the images' locks are for x86_64" in str(lack)
    assert lack_of_architecture("x86_64") is None


def test_too_little_space_is_told_before_the_start(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    lack = lack_of_space(tmp_path / "not" / "yet" / "there", free * 2)
    assert lack is not None
    assert "GiB left" in lack.sentence
    assert lack_of_space(tmp_path, 1) is None


def test_all_lacks_are_told_in_one_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(capabilities.platform, "machine", lambda: "riscv64")
    parts = [lack.part for lack in lacks_for_building(tmp_path, 2**80, debootstrap=False)]
    assert parts[0] == "architecture"
    assert parts[-1] == "space"


def test_a_program_for_administrators_is_found_off_the_path(
    monkeypatch: pytest.MonkeyPatch, missing: Callable[[str, str], None]
) -> None:
    if not Path("/usr/sbin/debootstrap").exists():
        missing("debootstrap", "install the package 'debootstrap'")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert lack_of_programs(("debootstrap",), "debootstrap") is None
