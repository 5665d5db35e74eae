"""Small tasks of every stage that measures the machine, run in this process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyscale_stages.contract import TaskResult
from stagetasks import run_verb

OF_MACHINE = ("storage", "decompress", "kernels")
SMALL: dict[str, dict[str, Any]] = {
    "storage": {
        "particles": 6,
        "particle_side_px": 18,
        "particle_files": 2,
        "movie_formats": ["mrc"],
        "movies": 1,
        "movie_frames": 1,
        "movie_side_px": 64,
        "small_files": 3,
        "readers": [1],
        "repeats": 1,
        "fio": False,
    },
    "decompress": {
        "codecs": ["mrc", "tiff_zlib"],
        "frames": 2,
        "height_px": 64,
        "width_px": 64,
        "repeats": 1,
        "threads": [1],
    },
    "kernels": {
        "tests": ["triad", "disk_single_linear10_max_C1"],
        "repeats": 2,
        "particle_px": 16,
        "particles": 9,
        "particle_batch": 2,
        "poses": 8,
        "marginal_poses": 2,
        "triad_elements": 1024,
    },
}
RunStage = Callable[..., TaskResult]
Mount = Callable[..., Path]


@pytest.fixture(params=OF_MACHINE)
def stage(request: pytest.FixtureRequest) -> str:
    """Name of each stage that measures the machine."""
    return str(request.param)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty folder to measure."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


@pytest.fixture
def run_stage(tmp_path: Path) -> RunStage:
    """Run a verb of a stage with small sizes."""

    def run(
        stage: str,
        *inputs: Path,
        verb: str = "run",
        output: Path | None = None,
        params: dict[str, Any] | None = None,
        **spec: Any,
    ) -> TaskResult:
        slots = (
            ("place",) if verb == "run" else tuple(f"w{number}" for number, _ in enumerate(inputs))
        )
        given = SMALL[stage] | (params or {})
        pairs = zip(slots, inputs, strict=False)
        output = output or tmp_path / "output"
        return run_verb(stage, verb, pairs, output=output, params=given, **spec)

    return run


@pytest.fixture
def mount_in_memory(tmp_path: Path, missing: Callable[[str, str], None]) -> Iterator[Mount]:
    """Mount a small filesystem of its own, which only root may."""
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        folder = tmp_path / "mounted"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if (
            sys.platform != "linux"
            or subprocess.run(command, check=False, capture_output=True).returncode
        ):
            missing("the right to mount a filesystem", "run as root on Linux")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=True)
