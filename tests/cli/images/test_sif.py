import platform
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pyscale.errors import UserError
from pyscale.images.sif import read_sif
from refusals import refused


@pytest.fixture
def sif(small_sif, tmp_path):
    return Path(shutil.copy(small_sif, tmp_path / "contact.sif"))


def patch(sif, at, new):
    with sif.open("r+b") as file:
        file.seek(at)
        file.write(new)


def test_the_header_tells_what_the_container_program_does(make_sif, engine, tmp_path):
    sif = make_sif(tmp_path / "contact.sif")
    header = read_sif(sif)
    assert header.size_bytes == sif.stat().st_size
    assert header.architecture == platform.machine()
    assert datetime.now(UTC) - header.created_utc < timedelta(minutes=20)
    assert header.help_text.strip() == "Which cells touch."
    assert header.runscript.split() == ["#!/bin/sh", "exec", "none"]
    told = subprocess.run(
        [engine.program, "inspect", str(sif)], capture_output=True, text=True, check=True
    ).stdout
    assert {f"{name}: {value}" for name, value in header.labels.items()} == set(
        told.strip().splitlines()
    )
    assert header.labels["org.pyscale.image"] == "contact"


@pytest.mark.parametrize("left", [33, 41, 100, 127, 128, 4096, 20000, -1])
def test_a_file_that_was_cut_short_is_called_so(sif, left):
    whole = sif.read_bytes()
    sif.write_bytes(whole[:left])
    with refused(UserError):
        read_sif(sif)


# An empty file is what a copy that failed at once leaves.
@pytest.mark.parametrize("content", [b"", b"#!/usr/bin/env run-singularity\n", b"text" * 99])
def test_a_file_that_is_no_image_is_called_so(tmp_path, content):
    path = tmp_path / "other.sif"
    with refused(UserError):
        read_sif(path)
    path.write_bytes(content)
    with refused(UserError):
        read_sif(path)
    with refused(UserError):
        read_sif(tmp_path)


# The magic, the number of descriptors, their offset, and inside the first descriptor its size.
@pytest.mark.parametrize("at", [32, 88, 96, 98, 4096 + 25 + 2])
def test_every_damage_of_the_header_is_one_sentence(sif, at):
    patch(sif, at, b"\xff\xff")
    with refused(UserError):
        read_sif(sif)


def test_damaged_metadata_is_one_sentence_and_no_flipped_byte_gives_a_traceback(sif):
    whole = sif.read_bytes()
    damaged = 0
    for at in [*range(128), *range(4096, 4096 + 3 * 585)]:
        patch(sif, at, bytes([whole[at] ^ 0xFF]))
        try:
            read_sif(sif)
        except UserError:
            damaged += 1
        patch(sif, at, whole[at : at + 1])
    assert damaged > 20
    assert read_sif(sif).labels["org.pyscale.stage"] == "contact"
    patch(sif, whole.index(b'{"data":'), b"]")
    with refused(UserError):
        read_sif(sif)
