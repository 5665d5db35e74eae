from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.errors import UserError
from pyscale.images.catalog import catalog
from pyscale.images.debian import fetch_debian
from pyscale.images.engine import Engine

CONTACT = catalog()["contact"]
PACKAGE = "ocl-icd-libopencl1_2.3_amd64.deb"


@pytest.fixture
def engine(tmp_path: Path) -> Callable[[str, str], Engine]:
    """A container program that says what the base's dpkg says, and does what its apt would do."""

    def make(dpkg: str, apt: str) -> Engine:
        program = tmp_path / "engine"
        program.write_text(
            "#!/bin/sh\n"
            f'case "$*" in *dpkg-query*) {dpkg}; exit;; esac\n'
            'for word; do case "$word" in *:/fetched) out=${word%:/fetched};; esac; done\n'
            f"{apt}\n"
        )
        program.chmod(0o755)
        return Engine(str(program), "apptainer", "1.4.5")

    return make


FETCHES = f'mkdir -p "$out/cache/archives"; echo new >"$out/cache/archives/{PACKAGE}"'
FAILS = "echo 'W: odd' | sed s/W/E/ >&2; exit 100"


def test_packages_are_fetched_once_for_a_base(
    tmp_path: Path, engine: Callable[[str, str], Engine]
) -> None:
    fetch_debian(CONTACT, tmp_path / "b", engine("echo libc6", FETCHES), tmp_path / "parts", print)
    assert (tmp_path / "parts" / "contact" / "debian" / PACKAGE).read_text() == "new\n"
    said: list[str] = []
    fetch_debian(
        CONTACT, tmp_path / "b", engine("echo libc6", FAILS), tmp_path / "parts", said.append
    )
    assert said == []
    assert [p.name for p in (tmp_path / "parts").iterdir()] == ["contact"]


def test_another_base_or_a_damaged_package_is_fetched_for_again(
    tmp_path: Path, engine: Callable[[str, str], Engine]
) -> None:
    parts = tmp_path / "parts"
    fetch_debian(CONTACT, tmp_path / "b", engine("echo libc6", FETCHES), parts, print)
    said: list[str] = []
    fetch_debian(CONTACT, tmp_path / "b", engine("echo newer", FETCHES), parts, said.append)
    (parts / "contact" / "debian" / PACKAGE).write_text("damaged")
    fetch_debian(CONTACT, tmp_path / "b", engine("echo newer", FETCHES), parts, said.append)
    assert len(said) == 2
    assert (parts / "contact" / "debian" / PACKAGE).read_text() == "new\n"


def test_what_apt_refuses_is_one_sentence_and_nothing_half_made(
    tmp_path: Path, engine: Callable[[str, str], Engine]
) -> None:
    parts = tmp_path / "parts"
    with pytest.raises(UserError, match=r"packages of contact cannot be fetched \(E: odd\): conn"):
        fetch_debian(CONTACT, tmp_path / "b", engine("echo libc6", FAILS), parts, print)
    assert list(parts.rglob("*")) == []


def test_a_base_that_is_no_debian_is_told(
    tmp_path: Path, engine: Callable[[str, str], Engine]
) -> None:
    base = tmp_path / "alpine.sif"
    program = engine("echo no dpkg >&2; false", FETCHES)
    with pytest.raises(UserError, match=re.escape(f"{base} is not a Debian system")):
        fetch_debian(CONTACT, base, program, tmp_path / "parts", print)
