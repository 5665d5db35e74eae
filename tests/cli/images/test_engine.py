from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.images.engine import Engine, find_engine
from pyscale_stages.errors import MissingPart


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Put a program that answers so alone on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def make(name: str, body: str) -> Path:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.mark.parametrize(
    ("name", "says", "expected"),
    [
        ("apptainer", "apptainer version 1.4.5", ("apptainer", "1.4.5")),
        ("apptainer", "apptainer version 1.3.0-rc.2+12-gab", ("apptainer", "1.3.0-rc.2+12-gab")),
        # Apptainer leaves a link of this name.
        ("singularity", "apptainer version 1.4.5", ("apptainer", "1.4.5")),
        ("singularity", "singularity-ce version 4.3.1", ("singularity-ce", "4.3.1")),
        ("singularity", "singularity version 3.8.7-1.el8", ("singularity-ce", "3.8.7-1.el8")),
        ("singularity", "SingularityPRO version 4.1.3", ("singularity-ce", "4.1.3")),
    ],
)
def test_the_engine_is_known_by_its_answer(
    program: Callable[[str, str], Path], name: str, says: str, expected: tuple[str, str]
) -> None:
    path = program(name, f"echo {says}")
    found = find_engine()
    assert (found.program, found.name, found.version) == (str(path), *expected)


def test_apptainer_comes_before_singularity(program: Callable[[str, str], Path]) -> None:
    program("singularity", "echo singularity-ce version 4.3.1")
    program("apptainer", "echo apptainer version 1.4.5")
    assert find_engine().name == "apptainer"


def test_variables_begin_as_the_engine_reads_them() -> None:
    apptainer = Engine("apptainer", "apptainer", "1.4.5")
    singularity = Engine("singularity", "singularity-ce", "4.3.1")
    assert (apptainer.environment_prefix, apptainer.option_prefix) == (
        "APPTAINERENV_",
        "APPTAINER_",
    )
    assert (singularity.environment_prefix, singularity.option_prefix) == (
        "SINGULARITYENV_",
        "SINGULARITY_",
    )


def test_root_needs_no_host_privileges_and_others_get_what_the_site_gives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Engine("/bin/apptainer", "apptainer", "1.4.5")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert engine.command("exec", "x.sif", "true") == [
        "/bin/apptainer",
        "exec",
        "--userns",
        "x.sif",
        "true",
    ]
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert engine.command("exec", "x.sif", "true") == ["/bin/apptainer", "exec", "x.sif", "true"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("exit 1", "singularity --version failed"),
        ("echo Endgame: Singularity 1.0", "singularity is not Apptainer or SingularityCE.*Endgame"),
        (":", "singularity is not Apptainer or SingularityCE"),
    ],
)
def test_a_program_that_is_no_engine_is_one_sentence(
    program: Callable[[str, str], Path], body: str, said: str
) -> None:
    program("singularity", body)
    with pytest.raises(MissingPart, match=said):
        find_engine()


def test_no_engine_says_how_to_get_one(program: Callable[[str, str], Path]) -> None:
    with pytest.raises(MissingPart, match="not on PATH.*module load apptainer.*--runtime native"):
        find_engine()


def test_the_engine_of_this_machine_starts_an_image(
    engine: Engine, make_sif: Callable[..., Path], tmp_path: Path
) -> None:
    sif = make_sif(tmp_path / "contact.sif")
    # The image is empty, so what is said of the absent program comes from inside.
    done = subprocess.run(
        engine.command("exec", str(sif), "/absent"), capture_output=True, text=True, check=False
    )
    assert "/absent: no such file" in done.stderr
