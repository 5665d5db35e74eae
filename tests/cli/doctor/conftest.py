"""Suites to examine, and a small disk to examine them on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pyscale.doctor.subject import Subject
from pyscale.settings import load_settings

FOLDERS = ("runs_folder", "data_folder", "images_folder")


@pytest.fixture
def subject(tmp_path: Path) -> Callable[..., Subject]:
    """What a suite asks of a machine, with any setting replaced."""

    def make(suite: str = "labels", **changes: object) -> Subject:
        given = {name: tmp_path / name for name in FOLDERS} | {"workers": (1, 2)} | changes
        return Subject.of_suite(suite, load_settings(**given))

    return make


@pytest.fixture
def put_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put shell programs on PATH by name, in place of those of Slurm."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")

    def put(**programs: str) -> None:
        for name, body in programs.items():
            (folder / name).write_text(f"#!/bin/sh\n{body}\n")
            (folder / name).chmod(0o755)

    return put


@pytest.fixture
def small_disk(
    tmp_path: Path, missing: Callable[[str, str], None]
) -> Iterator[Callable[[str], Path]]:
    """Mount small disks with the given options; they are gone after the test."""
    if os.geteuid() != 0:
        missing("root", "run the tests as root, who alone may mount a small disk")
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        folder = tmp_path / f"disk{len(mounted)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if subprocess.run(command, check=False).returncode != 0:
            missing("a small disk", "allow this machine to mount a tmpfs")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
