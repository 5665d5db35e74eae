"""What images stand on: Debian by this machine's mirror, a registry's image, or a given SIF."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyscale.errors import UserError
from pyscale.images.bases import choose_base, machine_mirror

DIGEST = "a" * 64


def program(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def test_a_mirror_that_is_given_is_taken() -> None:
    assert choose_base(None, "file:///mirror").variables() == {"mirror": "file:///mirror"}


def test_the_mirror_does_not_make_another_base() -> None:
    assert choose_base(None, "file:///a").sha256 == choose_base(None, "file:///b").sha256


def test_the_mirror_is_that_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "apt-get", "echo file:///first/; echo file:///second/")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine_mirror() == "file:///first/"


@pytest.mark.parametrize("apt", [None, "exit 100", "exit 0"])
def test_a_machine_without_mirror_is_told_all_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apt: str | None
) -> None:
    if apt is not None:
        program(tmp_path, "apt-get", apt)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"mirror of Debian.*--mirror.*docker://.*SIF"):
        choose_base(None, None).variables()


def test_an_image_of_a_registry_needs_its_digest() -> None:
    base = choose_base(f"docker://debian@sha256:{DIGEST}", None)
    assert base.variables() == {"from": f"debian@sha256:{DIGEST}"}
    for wrong in ("docker://debian:12", f"docker://debian@sha256:{DIGEST[:-1]}", "docker://"):
        with pytest.raises(UserError, match=r"has no digest.*docker://NAME@sha256:DIGEST"):
            choose_base(wrong, None)


def test_another_digest_is_another_base() -> None:
    bases = [choose_base(f"docker://debian@sha256:{x * 64}", None) for x in "ab"]
    assert bases[0].sha256 != bases[1].sha256


def test_a_sif_is_told_by_its_content(tmp_path: Path) -> None:
    for name, content in (("a.sif", b"1"), ("b.sif", b"1"), ("c.sif", b"2")):
        (tmp_path / name).write_bytes(content)
    a, b, c = (choose_base(str(tmp_path / f"{x}.sif"), None).sha256 for x in "abc")
    assert a == b != c


def test_a_sif_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.sif is neither a SIF file nor docker://"):
        choose_base(str(tmp_path / "none.sif"), None)
